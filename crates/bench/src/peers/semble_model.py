"""Makes a folder that semble loads as its static model, from the weights inside the wordllama package.

semble would download its own model on first use. These weights are in a registry package, so every machine can run it.
"""

import json
import pathlib
import sys

import numpy as np
import wordllama
from safetensors.numpy import load_file, save_file

target = pathlib.Path(sys.argv[1])
target.mkdir(parents=True, exist_ok=True)
package = pathlib.Path(wordllama.__file__).parent
tensors = load_file(package / "weights" / "l2_supercat_256.safetensors")
(weights,) = tensors.values()
save_file({"embeddings": weights.astype(np.float32)}, target / "model.safetensors")
tokenizer = package / "tokenizers" / "l2_supercat_tokenizer_config.json"
(target / "tokenizer.json").write_bytes(tokenizer.read_bytes())
(target / "config.json").write_text(json.dumps({"normalize": True, "hidden_dim": 256}))

//! Text to vectors: the embedded model, and any OpenAI-compatible endpoint.

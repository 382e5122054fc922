const filter = document.getElementById("filter");
filter.addEventListener("input", () => {
  for (const file of document.querySelectorAll("details")) {
    const path = file.querySelector("b").textContent.toLowerCase();
    file.hidden = !path.includes(filter.value.toLowerCase());
  }
});

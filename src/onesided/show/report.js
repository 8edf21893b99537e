(() => {
  /* The table as it was written; a reader with a script also searches, sorts and turns its pages. */
  const table = document.querySelector("#all table"), heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies[0].rows].map((tr) => [...tr.cells]).filter((cells) => cells.length === heads.length);
  const texts = heads.map((_, k) => rows.map((cells) => cells[k].textContent));
  const numbers = texts.map((column) => column.map((text) => (/^-?[\d,]*\.?\d+(e[-+]?\d+)?/i.test(text) ? parseFloat(text.replaceAll(",", "")) : null)));
  const isNumber = heads.map((_, k) => rows.length > 0 && rows[0][k].style.textAlign === "right");
  const status = heads.findIndex((head) => head.textContent === "status");
  for (const cells of rows) if (status >= 0) {
    const word = cells[status].textContent;
    cells[status].replaceWith((cells[status] = Kit.status(word === "certified" ? "yes" : "no", word)));
  }
  const order = rows.map((_, i) => i), collator = new Intl.Collator(undefined, { numeric: true });
  const filter = Kit.table({
    keys: texts[0] || [], texts: texts.filter((_, k) => !isNumber[k] && k !== status), order,
    cells: (i) => rows[i], allowed: (i, only) => texts[status][i] === only,
  });
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.replaceChildren(button);
    if (isNumber[k]) head.classList.add("number");
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      order.sort((a, b) => {
        const [x, y] = isNumber[k] ? [numbers[k][a], numbers[k][b]] : [texts[k][a], texts[k][b]];
        if (x === null || y === null) return (x === null) - (y === null) || a - b; // no value: always last
        return sign * (isNumber[k] ? x - y : collator.compare(x, y)) || a - b;
      });
      filter();
    });
  });
  filter();
  Kit.root.dataset.ready = "yes";
})();

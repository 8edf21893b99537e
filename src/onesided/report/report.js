(() => {
  const { $, root } = Kit;
  const { figures, table } = JSON.parse($("data").textContent);

  const PAPER = { width: 640, height: 380 }; // fits A4 and Letter; paper cannot be measured in advance
  let printing = false;
  const draw = (name) => {
    const place = $(name), map = name === "map";
    if (!figures[name] || !place) return;
    Kit.draw(place, figures[name].data, figures[name].layout, { bar: map, axis: { automargin: !map }, layout: printing ? PAPER : {} });
  };
  const drawAll = () => Object.keys(figures).forEach(draw);
  drawAll();
  Kit.onTheme(drawAll);
  addEventListener("beforeprint", () => { printing = true; root.dataset.theme = "light"; drawAll(); }); // paper is white
  addEventListener("afterprint", () => { printing = false; delete root.dataset.theme; drawAll(); });

  /* ---- table: sorted as numbers in memory ---- */
  const columns = table.columns, keys = columns[0].values;
  const status = columns.find((column) => column.kind === "status");
  const order = keys.map((_, i) => i);
  const collator = new Intl.Collator(undefined, { numeric: true });
  const heads = [...$("table").tHead.rows[0].cells];
  const cell = ({ kind, values }, i) => {
    if (kind === "status") return values[i] ? Kit.status("yes", "certified") : Kit.status("no", "unknown");
    return kind === "key" ? Kit.cell("key", values[i]) : Kit.value(values[i]);
  };
  const filter = Kit.table({
    keys, order, texts: columns.filter((column) => column.kind === "key").map((column) => column.values),
    cells: (i) => columns.map((column) => cell(column, i)),
    allowed: (i, only) => status.values[i] === Number(only),
  });
  const sort = (k) => {
    const up = heads[k].getAttribute("aria-sort") !== "ascending", values = columns[k].values, sign = up ? 1 : -1;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[k].setAttribute("aria-sort", up ? "ascending" : "descending");
    const text = columns[k].kind === "key";
    order.sort((a, b) => {
      const x = values[a], y = values[b];
      if (x === null || y === null) return (x === null) - (y === null) || a - b; // no value: always last
      return sign * (text ? collator.compare(x, y) : x - y) || a - b;
    });
    filter();
  };
  heads.forEach((head, k) => head.querySelector("button").addEventListener("click", () => sort(k)));
  filter();
  Kit.lead(keys, filter);
})();

"use strict";
(() => {
  const { figures, table } = JSON.parse(document.getElementById("data").textContent);
  const calm = { displaylogo: false, responsive: true, modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]] };
  const touch = matchMedia("(pointer: coarse)").matches;

  /* ---- figures: colours come from the style sheet, as "var(--name)" ---- */
  const resolve = (value, style) => {
    if (typeof value === "string") {
      const name = /^var\((--[a-z-]+)\)$/.exec(value);
      return name ? style.getPropertyValue(name[1]).trim() : value;
    }
    if (Array.isArray(value)) return value.map((v) => resolve(v, style));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, resolve(v, style)]));
  };
  const PAPER = { width: 640, height: 380 }; // fits A4 and Letter; paper cannot be measured in advance
  let webgl = true, printing = false;
  const draw = (name) => {
    const place = document.getElementById(name);
    if (!figures[name] || !place) return;
    const style = getComputedStyle(document.documentElement);
    const { data, layout } = resolve(figures[name], style);
    if (!webgl) for (const trace of data) if (trace.type === "scattergl") trace.type = "scatter";
    const axis = { gridcolor: style.getPropertyValue("--line").trim(), automargin: name !== "map" };
    Object.assign(layout, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style.fontFamily, size: 13, color: style.getPropertyValue("--muted").trim() },
      hoverlabel: { align: "left", bgcolor: style.getPropertyValue("--card").trim(), bordercolor: axis.gridcolor,
        font: { family: style.fontFamily, size: 13, color: style.getPropertyValue("--ink").trim() } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: style.getPropertyValue("--muted").trim(), activecolor: style.getPropertyValue("--ink").trim() },
      xaxis: { ...layout.xaxis, ...axis }, yaxis: { ...layout.yaxis, ...axis },
    });
    const narrow = place.clientWidth < 500 ? 0.7 : 1; // smaller marks where there is less room for them
    for (const { marker } of data) if (marker.size) marker.size = Math.max(3, marker.size * narrow);
    if (printing) Object.assign(layout, PAPER);
    if (touch) layout.dragmode = false; // a finger on the figure scrolls the page
    Plotly.react(place, data, layout, { ...calm, displayModeBar: name === "map" });
    if (webgl && place.querySelector(".no-webgl")) { // SVG is slower, but it is always there
      webgl = false;
      Plotly.purge(place);
      draw(name);
    }
  };
  const drawAll = () => Object.keys(figures).forEach(draw);
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const root = document.documentElement;
  addEventListener("beforeprint", () => { printing = true; root.dataset.theme = "light"; drawAll(); }); // paper is white
  addEventListener("afterprint", () => { printing = false; delete root.dataset.theme; drawAll(); });

  /* ---- table: sorted and filtered as numbers in memory, one page of rows in the document ---- */
  const PAGE = 20;
  const columns = table.columns;
  const keys = columns[0].values;
  const folded = keys.map((key) => key.toLocaleLowerCase());
  const status = columns.find((column) => column.kind === "status");
  const order = keys.map((_, i) => i);
  const collator = new Intl.Collator(undefined, { numeric: true });
  const $ = (id) => document.getElementById(id);
  const body = $("table").tBodies[0], heads = [...$("table").tHead.rows[0].cells];
  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
  let rows = order, first = 0;

  const cell = (column, i) => {
    const td = document.createElement("td"), value = column.values[i];
    if (column.kind === "status") {
      const mark = document.createElement("span");
      mark.className = value ? "mark yes" : "mark no";
      mark.setAttribute("aria-hidden", "true");
      td.className = "status";
      td.append(mark, value ? "certified" : "unknown");
    } else if (column.kind === "key") {
      td.className = "key";
      td.textContent = value;
    } else {
      td.className = "number";
      td.textContent = value === null ? "–" : number.format(value);
    }
    return td;
  };
  const show = () => {
    const some = rows.slice(first, first + PAGE).map((i) => {
      const tr = document.createElement("tr");
      tr.append(...columns.map((column) => cell(column, i)));
      return tr;
    });
    body.replaceChildren(...some);
    const [from, to, all] = [first + 1, first + some.length, rows.length].map((n) => number.format(n));
    $("count").textContent = some.length ? `${from} to ${to} of ${all}` : "Nothing matches.";
    $("back").disabled = first === 0;
    $("next").disabled = first + PAGE >= rows.length;
  };
  const filter = () => {
    const text = $("find").value.trim().toLocaleLowerCase(), only = $("only") ? $("only").value : "";
    rows = order.filter((i) => folded[i].includes(text) && (only === "" || status.values[i] === Number(only)));
    first = 0;
    show();
  };
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
  $("find").addEventListener("input", filter);
  if ($("only")) $("only").addEventListener("change", filter);
  $("back").addEventListener("click", () => { first = Math.max(0, first - PAGE); show(); });
  $("next").addEventListener("click", () => { first += PAGE; show(); });
  const form = document.querySelector(".tools");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  document.querySelector(".turn").hidden = false;
  show();

  /* ---- a place on the map leads to its row ---- */
  const map = $("map");
  if (map && map.on) map.on("plotly_click", ({ points }) => {
    const i = points[0].customdata;
    if (i >= keys.length) return; // the table holds only the first rows
    if ($("only")) $("only").value = "";
    $("find").value = keys[i];
    filter();
    $("all").scrollIntoView({ behavior: "smooth", block: "start" });
  });
  root.dataset.ready = "yes";
})();

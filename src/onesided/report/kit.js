"use strict";
/* What every page shares: the style of its figures, and a table that is searched and turned. */
const Kit = (() => {
  const PAGE = 20;
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
  const touch = matchMedia("(pointer: coarse)").matches;

  const cell = (kind, text) => {
    const td = document.createElement("td");
    td.className = kind;
    td.textContent = text;
    return td;
  };
  const status = (kind, word) => {
    const td = cell("status", ""), mark = document.createElement("span");
    mark.className = `mark ${kind}`;
    mark.setAttribute("aria-hidden", "true");
    td.append(mark, word);
    return td;
  };
  const value = (some) => cell("number", some === null || some === undefined ? "–" : number.format(some));

  /* ---- figures: colours come from the style sheet, as "var(--name)" ---- */
  const resolve = (some) => {
    if (typeof some === "string") {
      const name = /^var\((--[a-z-]+)\)$/.exec(some);
      return name ? getComputedStyle(root).getPropertyValue(name[1]).trim() : some;
    }
    if (Array.isArray(some)) return some.map(resolve);
    if (some === null || typeof some !== "object") return some;
    return Object.fromEntries(Object.entries(some).map(([key, part]) => [key, resolve(part)]));
  };
  let webgl = true;
  const draw = (place, data, layout, more) => {
    const [line, muted, ink, card] = resolve(["var(--line)", "var(--muted)", "var(--ink)", "var(--card)"]);
    const font = { family: getComputedStyle(root).fontFamily, size: 13, color: muted };
    const clear = "rgba(0,0,0,0)", axis = { gridcolor: line, ...more.axis };
    const traces = resolve(data), narrow = place.clientWidth < 500 ? 0.7 : 1; // smaller marks where there is less room
    for (const trace of traces) {
      if (!webgl && trace.type === "scattergl") trace.type = "scatter";
      if (trace.marker && trace.marker.size) trace.marker.size = Math.max(3, trace.marker.size * narrow);
    }
    const whole = {
      ...resolve(layout), paper_bgcolor: clear, plot_bgcolor: clear, font,
      hoverlabel: { align: "left", bgcolor: card, bordercolor: line, font: { ...font, color: ink } },
      modebar: { bgcolor: clear, color: muted, activecolor: ink },
      xaxis: { ...resolve(layout.xaxis), ...axis }, yaxis: { ...resolve(layout.yaxis), ...axis }, ...more.layout,
    };
    if (touch) whole.dragmode = false; // a finger on the figure scrolls the page
    Plotly.react(place, traces, whole, {
      displaylogo: false, responsive: true, displayModeBar: more.bar, modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]],
    });
    if (webgl && place.querySelector(".no-webgl")) { // SVG is slower, but it is always there
      webgl = false;
      Plotly.purge(place);
      draw(place, data, layout, more);
    }
  };

  /* ---- a table held in memory, one page of its rows in the document ---- */
  const table = ({ keys, texts = [keys], order, cells, allowed }) => {
    const body = $("table").tBodies[0], folded = keys.map((_, i) => texts.map((column) => column[i]).join(" ").toLocaleLowerCase());
    let rows = order, first = 0;
    const show = () => {
      const some = rows.slice(first, first + PAGE).map((i) => {
        const tr = document.createElement("tr");
        tr.append(...cells(i));
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
      rows = order.filter((i) => folded[i].includes(text) && (only === "" || allowed(i, only)));
      first = 0;
      show();
    };
    $("find").addEventListener("input", filter);
    if ($("only")) $("only").addEventListener("change", filter);
    $("back").addEventListener("click", () => { first = Math.max(0, first - PAGE); show(); });
    $("next").addEventListener("click", () => { first += PAGE; show(); });
    const form = document.querySelector(".tools");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    document.querySelector(".turn").hidden = false;
    return filter;
  };

  /* ---- a place on the map leads to its row ---- */
  const lead = (keys, filter) => {
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
  };
  const onTheme = (again) => matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);

  return { $, root, number, cell, status, value, draw, table, lead, onTheme };
})();

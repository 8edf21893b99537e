"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { places, frames, map, thresholds } = data;
  const $ = (id) => document.getElementById(id);
  const number = new Intl.NumberFormat("en");
  const WORDS = { c: "certified", u: "unknown", r: "resting" };
  const MARKS = { c: "mark yes", u: "mark no", r: "mark rest" };
  const limit = (i) => (typeof thresholds === "number" ? thresholds : thresholds[i]);
  let at = frames.length - 1, values = new Map();

  const statuses = (frame) => { // run lengths: "3c2u" means cccuu
    if (!frame.plain) frame.plain = frame.runs.replace(/(\d+)([cur])/g, (_, n, s) => s.repeat(Number(n)));
    return frame.plain;
  };
  const bound = (i, status) => (status === "c" ? limit(i) : status === "u" ? values.get(i) : null);
  const words = (i, status) => {
    if (status === "c") return `certified: at most ${limit(i)}`;
    if (status === "u") return `unknown (certainly at most ${number.format(values.get(i))})`;
    return "resting: not asked";
  };

  /* ---- map: one trace for each status, so that each has its own colour and shape ---- */
  const touch = matchMedia("(pointer: coarse)").matches;
  let webgl = Boolean(map && map.webgl);
  const escape = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
  const draw = () => {
    const place = $("map");
    if (!map || !place) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const now = statuses(frames[at]);
    const narrow = place.clientWidth < 500 ? 0.7 : 1;
    const size = Math.max(3, map.size * narrow);
    // Drawn in this order: what is certified never hides what is not.
    const kinds = [["c", "circle", "--certified"], ["r", "square-open", "--resting"], ["u", "diamond", "--unknown"]];
    const traces = kinds.map(([status, symbol, name]) => {
      const rows = map.rows.filter((i) => now[i] === status);
      return {
        type: webgl ? "scattergl" : "scatter", mode: "markers", name: WORDS[status],
        x: rows.map((i) => map.x[map.at[i]]), y: rows.map((i) => map.y[map.at[i]]), customdata: rows,
        hovertext: rows.map((i) => `<b>${escape(places[i])}</b><br>${words(i, status)}`), hoverinfo: "text",
        marker: { size: status === "u" ? size * 1.15 : size, symbol, color: colour(name), opacity: 0.9,
          line: { width: status === "r" ? 1.5 : webgl ? 0 : 0.5, color: status === "r" ? colour(name) : colour("--plot") } },
      };
    });
    const grid = colour("--line"), font = { family: style.fontFamily, size: 13, color: colour("--muted") };
    const ink = JSON.parse(JSON.stringify(map.layout).replaceAll("var(--ink)", colour("--ink")));
    const layout = {
      ...ink, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font, uirevision: "kept",
      hoverlabel: { align: "left", bgcolor: colour("--card"), bordercolor: grid, font: { ...font, color: colour("--ink") } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--muted"), activecolor: colour("--ink") },
      xaxis: { ...ink.xaxis, gridcolor: grid }, yaxis: { ...ink.yaxis, gridcolor: grid },
    };
    if (touch) layout.dragmode = false;
    Plotly.react(place, traces, layout, { displaylogo: false, responsive: true, displayModeBar: true, modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"]] });
    if (webgl && place.querySelector(".no-webgl")) {
      webgl = false;
      Plotly.purge(place);
      draw();
    }
  };

  /* ---- table ---- */
  const PAGE = 20, body = $("table").tBodies[0], folded = places.map((p) => p.toLocaleLowerCase());
  let rows = [], first = 0;
  const show = () => {
    const now = statuses(frames[at]);
    const some = rows.slice(first, first + PAGE).map((i) => {
      const tr = document.createElement("tr");
      const [name, status, most] = [0, 1, 2].map(() => tr.appendChild(document.createElement("td")));
      name.className = "key"; name.textContent = places[i];
      const mark = document.createElement("span");
      mark.className = MARKS[now[i]]; mark.setAttribute("aria-hidden", "true");
      status.className = "status"; status.append(mark, WORDS[now[i]]);
      const value = bound(i, now[i]);
      most.className = "number"; most.textContent = value === null || value === undefined ? "–" : number.format(value);
      return tr;
    });
    body.replaceChildren(...some);
    const [from, to, all] = [first + 1, first + some.length, rows.length].map((n) => number.format(n));
    $("count").textContent = some.length ? `${from} to ${to} of ${all}` : "Nothing matches.";
    $("back").disabled = first === 0;
    $("next").disabled = first + PAGE >= rows.length;
  };
  const filter = () => {
    const now = statuses(frames[at]), text = $("find").value.trim().toLocaleLowerCase(), only = $("only").value;
    rows = [];
    for (let i = 0; i < places.length; i += 1) if ((!only || now[i] === only) && folded[i].includes(text)) rows.push(i);
    first = 0;
    show();
  };

  /* ---- time ---- */
  const turn = (to) => {
    at = Math.min(Math.max(to, 0), frames.length - 1);
    const frame = frames[at], now = statuses(frame), count = { c: 0, u: 0, r: 0 };
    values = new Map(frame.values);
    for (const status of now) count[status] += 1;
    for (const status of "cur") {
      $(`n-${status}`).textContent = number.format(count[status]);
      $(`s-${status}`).style.flexGrow = count[status];
    }
    $("when").textContent = frame.time;
    $("slider").value = at;
    $("slider").setAttribute("aria-valuetext", frame.time);
    $("step").textContent = `Step ${number.format(frame.number)}, batch ${frame.batch}` + (at === frames.length - 1 ? " (latest)" : "");
    $("earlier").disabled = at === 0;
    $("later").disabled = at === frames.length - 1;
    draw();
    filter();
  };
  $("slider").addEventListener("input", (event) => turn(Number(event.target.value)));
  $("earlier").addEventListener("click", () => turn(at - 1));
  $("later").addEventListener("click", () => turn(at + 1));
  $("find").addEventListener("input", filter);
  $("only").addEventListener("change", filter);
  $("back").addEventListener("click", () => { first = Math.max(0, first - PAGE); show(); });
  $("next").addEventListener("click", () => { first += PAGE; show(); });
  const form = document.querySelector(".tools");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  document.querySelector(".turn").hidden = false;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  turn(at);
  const shown = $("map");
  if (shown && shown.on) shown.on("plotly_click", ({ points }) => {
    $("only").value = "";
    $("find").value = places[points[0].customdata];
    filter();
    $("all").scrollIntoView({ behavior: "smooth", block: "start" });
  });
  document.documentElement.dataset.ready = "yes";
})();

(() => {
  const { $, number } = Kit;
  const { places, frames, map, thresholds } = JSON.parse($("data").textContent);
  const WORDS = { c: "certified", u: "unknown", r: "resting" };
  const MARKS = { c: "yes", u: "no", r: "rest" };
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
  const escape = (text) => text.replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
  const draw = () => {
    if (!map || !$("map")) return;
    const now = statuses(frames[at]);
    // Drawn in this order: what is certified never hides what is not.
    const kinds = [["c", "circle", "var(--certified)"], ["r", "square-open", "var(--resting)"], ["u", "diamond", "var(--unknown)"]];
    const traces = kinds.map(([status, symbol, color]) => {
      const rows = map.rows.filter((i) => now[i] === status), open = status === "r";
      return {
        type: map.webgl ? "scattergl" : "scatter", mode: "markers", name: WORDS[status],
        x: rows.map((i) => map.x[map.at[i]]), y: rows.map((i) => map.y[map.at[i]]), customdata: rows,
        hovertext: rows.map((i) => `<b>${escape(places[i])}</b><br>${words(i, status)}`), hoverinfo: "text",
        marker: { size: status === "u" ? map.size * 1.15 : map.size, symbol, color, opacity: 0.9,
          line: { width: open ? 1.5 : map.webgl ? 0 : 0.5, color: open ? color : "var(--plot)" } },
      };
    });
    Kit.draw($("map"), traces, map.layout, { bar: true, axis: {}, layout: { uirevision: "kept" } });
  };

  const filter = Kit.table({
    keys: places, order: places.map((_, i) => i),
    cells: (i) => {
      const now = statuses(frames[at])[i];
      return [Kit.cell("key", places[i]), Kit.status(MARKS[now], WORDS[now]), Kit.value(bound(i, now))];
    },
    allowed: (i, only) => statuses(frames[at])[i] === only,
  });

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
  Kit.onTheme(draw);
  turn(at);
  Kit.lead(places, filter);
})();

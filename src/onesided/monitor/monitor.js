/* A live monitor: asks every few seconds whether there is a new step, and draws it on a canvas.
   Its data are addresses on a service, or files beside the page. */
(() => {
  const { $, number, root } = Kit;
  const page = $("monitor"), map = $("map");
  const inline = $("data") ? JSON.parse($("data").textContent) : {}; // of few places: a page that is opened as a file
  const served = location.protocol !== "file:", { past, steps } = page.dataset;
  if (location.search === "?embed") root.dataset.embed = "yes";
  const EVERY = 5000, WORDS = { c: "certified", u: "unknown", r: "resting", a: "alarm" }, MARKS = { c: "yes", u: "no", r: "rest", a: "alarm" };
  let places, frame, values = new Map(), lower = new Map(), statuses = "", filter = () => {}, seen = {}, latest = null;

  const limit = (i) => (typeof places.thresholds === "number" ? places.thresholds : places.thresholds[i]);
  const bound = (i) => (statuses[i] === "c" ? limit(i) : values.get(i) ?? null);
  const least = (i) => (statuses[i] === "a" ? (typeof places.alarms === "number" ? places.alarms : places.alarms[i]) : lower.get(i) ?? null);

  /* ---- the map: what is certified never hides what is not ---- */
  const spots = []; // where each place was drawn, in pixels of the page
  const project = (width, height) => {
    const known = places.rows, x = places.x, y = places.y;
    const lows = [Infinity, Infinity], highs = [-Infinity, -Infinity];
    const stretch = Math.max(Math.cos((places.middle * Math.PI) / 180), 0.01);
    for (let k = 0; k < known.length; k += 1) {
      lows[0] = Math.min(lows[0], x[k] * stretch); highs[0] = Math.max(highs[0], x[k] * stretch);
      lows[1] = Math.min(lows[1], y[k]); highs[1] = Math.max(highs[1], y[k]);
    }
    const scale = Math.min((width - 30) / (highs[0] - lows[0] || 0.01), (height - 30) / (highs[1] - lows[1] || 0.01));
    const left = (width - scale * (highs[0] - lows[0])) / 2, top = (height - scale * (highs[1] - lows[1])) / 2;
    return (east, north) => [left + scale * (east * stretch - lows[0]), height - top - scale * (north - lows[1])];
  };
  const shape = { // filled circle, triangle, diamond, open square
    a: (draw, x, y, r) => { const d = r * 1.7; draw.beginPath(); draw.moveTo(x, y - d); draw.lineTo(x + d, y + d); draw.lineTo(x - d, y + d); draw.closePath(); draw.fill(); draw.stroke(); },
    c: (draw, x, y, r) => { draw.beginPath(); draw.arc(x, y, r, 0, 7); draw.fill(); },
    u: (draw, x, y, r) => { const d = r * 1.4; draw.beginPath(); draw.moveTo(x, y - d); draw.lineTo(x + d, y); draw.lineTo(x, y + d); draw.lineTo(x - d, y); draw.closePath(); draw.fill(); draw.stroke(); },
    r: (draw, x, y, r) => { draw.strokeRect(x - r, y - r, 2 * r, 2 * r); },
  };
  const paint = () => {
    if (!map || !places || !frame || !places.rows.length) return;
    const { width, height } = map.getBoundingClientRect(), sharp = devicePixelRatio || 1;
    map.width = Math.round(width * sharp); map.height = Math.round(height * sharp);
    const draw = map.getContext("2d"), style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(name).trim();
    draw.scale(sharp, sharp);
    const at = project(width, height);
    draw.strokeStyle = colour("--muted"); draw.lineWidth = 0.8; draw.globalAlpha = 0.7;
    for (const [latitude, longitude] of places.outline || []) {
      draw.beginPath();
      latitude.forEach((north, k) => draw.lineTo(...at(longitude[k], north)));
      draw.stroke();
    }
    draw.globalAlpha = 1;
    const size = Math.min(5, Math.max(1.2, 3.6 * Math.sqrt(1500 / places.rows.length)));
    spots.length = 0;
    places.rows.forEach((i, k) => spots.push([...at(places.x[k], places.y[k]), i]));
    for (const [kind, fill, line] of [["c", "--certified", "--plot"], ["r", "--plot", "--resting"], ["u", "--unknown", "--unknown-edge"], ["a", "--alarm", "--plot"]]) {
      draw.fillStyle = colour(fill); draw.strokeStyle = colour(line); draw.lineWidth = kind === "r" ? 1.5 : 0.7;
      for (const [x, y, i] of spots) if (statuses[i] === kind) shape[kind](draw, x, y, size);
    }
    map.dataset.step = frame.number;
  };
  const nearest = (event) => {
    const box = map.getBoundingClientRect();
    let best = null, least = 12 ** 2;
    for (const [x, y, i] of spots) {
      const far = (x - event.clientX + box.left) ** 2 + (y - event.clientY + box.top) ** 2;
      if (far < least) { least = far; best = i; }
    }
    return best;
  };
  if (map) {
    map.addEventListener("pointermove", (event) => {
      const i = places ? nearest(event) : null;
      map.title = i === null ? "" : `${places.names[i]}: ${WORDS[statuses[i]]}${bound(i) === null ? "" : `, at most ${number.format(bound(i))}`}${!places.alarms || least(i) === null ? "" : `, open at least ${number.format(least(i))}`}`;
    });
    map.addEventListener("click", (event) => {
      const i = places ? nearest(event) : null;
      if (i === null) return;
      if ($("only")) $("only").value = "";
      $("find").value = places.names[i];
      filter();
      $("all").scrollIntoView({ behavior: "smooth", block: "start" });
    });
    new ResizeObserver(paint).observe(map);
    Kit.onTheme(paint);
  }

  /* ---- a step ---- */
  const moment = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
  const when = (text) => (Number.isNaN(Date.parse(text)) || /^\d+$/.test(text) ? text : `${moment.format(new Date(text)).replace(" at ", ", ")} UTC`);
  const plain = (runs) => runs.replace(/(\d+)([cura])/g, (_, n, s) => s.repeat(Number(n)));
  const show = (found) => {
    frame = found;
    statuses = plain(frame.runs);
    values = new Map(frame.values);
    lower = new Map(frame.lower);
    const count = { c: 0, u: 0, r: 0, a: 0 };
    for (const status of statuses) count[status] += 1;
    for (const status of places.alarms ? "cura" : "cur") $(`n-${status}`).textContent = number.format(count[status]);
    const all = statuses.length || 1;
    $("s-c").setAttribute("width", (100 * count.c) / all);
    if (places.alarms) $("s-a").setAttribute("width", (100 * (count.c + count.a)) / all);
    $("s-u").setAttribute("width", (100 * (count.c + count.a + count.u)) / all);
    const time = document.createElement("time");
    time.id = "when"; time.dateTime = frame.time; time.textContent = when(frame.time);
    const old = latest && frame.number < latest.number ? " This is the past; the last step is later." : "";
    if (frame.number) $("fresh").replaceChildren(`Step ${number.format(frame.number)}, as of `, time, `.${old}`);
    paint();
    filter();
  };
  const arrived = (found) => { // whoever looks at the past stays there
    const follows = !latest || frame.number === latest.number;
    latest = found;
    if (follows) show(found);
    slide();
    if (!$("past") || $("past").hidden) return;
    tell();
  };
  const look = async () => {
    const found = await fetch(page.dataset.state, { cache: "no-store", headers: seen });
    if (found.status === 304) return;
    if (!found.ok) throw new Error(found.statusText);
    const tag = found.headers.get("ETag"), date = found.headers.get("Last-Modified");
    // A date counts seconds: what is younger may still change within its own.
    const sure = date && Date.parse(found.headers.get("Date")) - Date.parse(date) > 2000;
    seen = tag ? { "If-None-Match": tag } : sure ? { "If-Modified-Since": date } : {};
    const state = await found.json();
    if (!latest || state.number !== latest.number) arrived(state);
  };
  const again = async () => {
    if (!document.hidden) {
      try { await look(); page.classList.remove("stale"); } catch { page.classList.add("stale"); }
    }
    setTimeout(again, EVERY);
  };

  /* ---- earlier steps, where they are files beside the page ---- */
  const kept = new Map();
  const stepAt = async (n) => {
    if (latest && n === latest.number) return latest;
    if (!kept.has(n)) {
      const found = await fetch(`${steps}${n}.json`);
      if (!found.ok) return null;
      kept.set(n, await found.json());
      if (kept.size > 500) kept.delete(kept.keys().next().value);
    }
    return kept.get(n);
  };
  const slide = () => {
    if (!$("time") || !served || !latest || latest.number <= latest.first) return;
    const slider = $("slider");
    $("time").hidden = false;
    slider.min = latest.first; slider.max = latest.number; slider.value = frame.number;
    slider.setAttribute("aria-valuetext", when(frame.time));
    $("earlier").disabled = frame.number <= latest.first;
    $("later").disabled = frame.number >= latest.number;
  };
  const turn = async (n) => {
    const found = await stepAt(Math.min(Math.max(n, latest.first), latest.number));
    if (found) show(found);
    slide();
  };
  if ($("time")) {
    $("slider").addEventListener("input", (event) => turn(Number(event.target.value)));
    $("earlier").addEventListener("click", () => turn(frame.number - 1));
    $("later").addEventListener("click", () => turn(frame.number + 1));
  }

  /* ---- what was said of one place ---- */
  const MOST = 120, svg = (name, facts) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(facts)) made.setAttribute(key, value);
    return made;
  };
  const words = (facts, text) => { const made = svg("text", facts); made.textContent = text; return made; };
  const chart = (told) => {
    const width = Math.max(260, Math.min(720, $("chart").clientWidth || 720)), left = 44, foot = 200;
    const most = Math.max(1, ...told.map((one) => one.bound ?? 0)), wide = (width - left - 10) / Math.max(told.length, 1);
    const y = (value) => foot - ((foot - 20) * value) / most;
    const made = svg("svg", { viewBox: `0 0 ${width} ${foot + 26}`, width, height: foot + 26, role: "img", "aria-label": "At most so many people, step by step. The table has the same numbers.", "font-size": 13, fill: "var(--muted)" });
    for (const value of new Set([0, most])) {
      made.append(svg("line", { x1: left, x2: width - 10, y1: y(value), y2: y(value), stroke: "var(--line)" }));
      made.append(words({ x: left - 8, y: y(value) + 4, "text-anchor": "end" }, number.format(value)));
    }
    told.forEach(({ bound, status }, k) => {
      if (bound === null) return;
      const facts = { x1: left + k * wide, x2: left + (k + 1) * wide, y1: y(bound), y2: y(bound) };
      made.append(svg("line", { ...facts, stroke: status === "c" ? "var(--certified)" : "var(--unknown)", "stroke-width": 3, ...(status === "u" ? { "stroke-dasharray": "5 3" } : {}) }));
    });
    const first = told[0], last = told[told.length - 1];
    if (first) made.append(words({ x: left, y: foot + 20 }, when(first.time)));
    if (last !== first && width > 520) made.append(words({ x: width - 10, y: foot + 20, "text-anchor": "end" }, when(last.time)));
    $("chart").replaceChildren(made);
  };
  const tell = async () => {
    const found = /^#place=(\d+)$/.exec(location.hash), i = found ? Number(found[1]) : -1;
    if (!$("past") || !places || !latest) return false;
    $("past").hidden = !(i >= 0 && i < places.names.length);
    if ($("past").hidden) return false;
    const first = Math.max(latest.first, latest.number - MOST + 1), wanted = [];
    for (let n = first; n <= latest.number; n += 1) wanted.push(stepAt(n).catch(() => null));
    const told = (await Promise.all(wanted)).filter(Boolean).map((one) => {
      const status = plain(one.runs)[i], value = one.values.find(([row]) => row === i);
      return { time: one.time, status, bound: status === "c" ? limit(i) : value ? value[1] : null };
    });
    $("past-of").textContent = `What was said of ${places.names[i]}`;
    chart(told);
    $("steps").tBodies[0].replaceChildren(...told.reverse().map((one) => {
      const tr = document.createElement("tr"), time = document.createElement("td");
      time.textContent = when(one.time);
      tr.append(time, Kit.status(MARKS[one.status], WORDS[one.status]), Kit.value(one.bound));
      return tr;
    }));
    return true;
  };
  if (steps) addEventListener("hashchange", async () => { if (await tell()) { $("past-of").focus(); $("past").scrollIntoView({ block: "start" }); } });

  const cell = (i) => {
    const td = Kit.cell("key", "");
    if (!past || root.dataset.embed || (steps && !served)) { td.textContent = places.names[i]; return td; }
    const link = document.createElement("a");
    link.href = past + i; link.textContent = places.names[i];
    td.append(link);
    return td;
  };
  const start = async () => {
    places = inline.places || await (await fetch(page.dataset.places)).json();
    if (places.alarms) WORDS.c = "safe";
    if (inline.state) arrived(inline.state);
    if (served) await look();
    filter = Kit.table({
      keys: places.names, order: places.names.map((_, i) => i),
      cells: (i) => [cell(i), Kit.status(MARKS[statuses[i]], WORDS[statuses[i]]), Kit.value(bound(i)), ...(places.alarms ? [Kit.value(least(i))] : [])],
      allowed: (i, only) => statuses[i] === only,
    });
    filter();
    if (steps && served) {
      $("snippet").textContent = $("snippet").textContent.replace('src="', `src="${new URL(".", location.href).href}`);
      await tell();
    }
    root.dataset.ready = "yes";
    if (served) setTimeout(again, EVERY);
  };
  start().catch(() => { $("fresh").textContent = "The data of this page could not be read. Opened as a file it shows few places alone: serve its folder over HTTP."; });
})();

"use strict";
/* What every page shares: a table that is searched and turned. */
const Kit = (() => {
  const PAGE = 20;
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

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

  /* ---- a table held in memory, one page of its rows in the document ---- */
  const table = ({ keys, texts = [keys], order, cells, allowed }) => {
    const body = document.querySelector("#all table").tBodies[0], folded = keys.map((_, i) => texts.map((column) => column[i]).join(" ").toLocaleLowerCase());
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

  const onTheme = (again) => matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);

  return { $, root, number, cell, status, value, table, onTheme };
})();

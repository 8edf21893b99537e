"use strict";
/* Pages work without this; with it the price follows the form and an answer shows itself. */
(() => {
  const $ = (id) => document.getElementById(id);

  /* ---- the form: only what the question needs, and its price as it is filled in ---- */
  const form = $("ask"), price = $("price");
  const fit = () => {
    const kind = $("kind");
    if (!kind) return;
    for (const part of form.querySelectorAll("[data-for]")) part.hidden = !part.dataset.for.split(" ").includes(kind.value);
    if ($("within").closest("[hidden]") && $("within").value) {
      $("within").value = "";
      $("epsilon").value ||= "1/10";
    }
  };
  /* either accuracy or ε: what is filled in last */
  const only = (field) => {
    const other = { within: "epsilon", epsilon: "within" }[field.id];
    if (other && field.value) $(other).value = "";
  };
  let timer, flight;
  const refresh = async () => {
    if (flight) flight.abort();
    const own = (flight = new AbortController());
    const card = price.closest(".price");
    card.setAttribute("aria-busy", "true");
    try {
      const found = await fetch(form.dataset.price, { method: "POST", body: new URLSearchParams(new FormData(form)), signal: own.signal });
      const text = await found.text();
      if (own === flight && found.headers.get("X-Part") === "price") {
        const part = new DOMParser().parseFromString(text, "text/html");
        price.replaceChildren(...part.body.childNodes);
      }
    } catch (error) {
      if (error.name !== "AbortError") price.textContent = "The price cannot be shown now: the service does not answer.";
    }
    if (own === flight) card.setAttribute("aria-busy", "false");
  };
  if (form && price) {
    const soon = (event) => { only(event.target); fit(); clearTimeout(timer); timer = setTimeout(refresh, 350); };
    form.addEventListener("input", soon);
    form.addEventListener("change", soon);
    for (const button of form.querySelectorAll(".by-hand")) button.hidden = true;
    fit();
    refresh();
  }

  /* ---- an answer that is due: look when its time has come ---- */
  const due = $("due");
  if (due) {
    const until = Date.parse(due.dataset.due), shown = $("countdown");
    const left = () => Math.max(until - Date.now(), 0);
    const tell = () => { shown.textContent = left() ? `${Math.ceil(left() / 1000)} s` : "now"; };
    shown.hidden = false;
    tell();
    setInterval(tell, 250);
    setTimeout(() => location.reload(), Math.min(left() + 400, 2 ** 30));
  }

  /* ---- copy ---- */
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
    });
  }
})();


"use strict";
(() => {
  const make = (tag, text) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    return made;
  };
  const button = (text, press) => {
    const made = make("button", text);
    made.type = "button";
    made.addEventListener("click", press);
    return made;
  };
  document.documentElement.classList.add("js");

  const table = document.querySelector(".overview");
  const body = table && table.tBodies[0];
  const rows = body ? [...body.rows] : [];

  const sort = (head, place) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    const text = (row) => row.cells[place].textContent.trim();
    const number = (row) => {
      const key = row.cells[place].dataset.sort;
      return key ? Number(key) : NaN;
    };
    const compare = (one, two) => {
      if (head.dataset.by === "text") return sign * text(one).localeCompare(text(two), "en", { numeric: true });
      const [a, b] = [number(one), number(two)];
      if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
      return sign * (a - b);
    };
    body.append(...[...body.rows].sort(compare));
  };
  if (rows.length > 1) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      if (!head.dataset.by) return;
      const text = head.firstChild;
      const made = button(text.textContent.trim(), () => sort(head, place));
      text.replaceWith(made);
    });
  }

  const tools = document.getElementById("tools");
  if (tools && rows.length > 5) {
    const named = make("label", "Filter by name");
    const wanted = make("input");
    wanted.type = "search";
    named.append(wanted);
    const verdict = make("label", "Verdict");
    const state = make("select");
    const any = make("option", "any");
    any.value = "";
    state.append(any);
    const seen = new Map();
    for (const row of rows) seen.set(row.dataset.state, row.cells[1].textContent.trim().replace(/^\S\s+/, ""));
    for (const [key, words] of seen) {
      const made = make("option", words);
      made.value = key;
      state.append(made);
    }
    verdict.append(state);
    const count = make("span");
    count.setAttribute("role", "status");
    const filter = () => {
      const text = wanted.value.trim().toLowerCase();
      let shown = 0;
      for (const row of rows) {
        const fits = row.dataset.name.toLowerCase().includes(text) && (!state.value || row.dataset.state === state.value);
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = `${shown} of ${rows.length} shown`;
    };
    wanted.addEventListener("input", filter);
    state.addEventListener("change", filter);
    tools.append(named, verdict, count);
    filter();
  }

  const sections = [...document.querySelectorAll("details.cf")];
  const openers = document.getElementById("openers");
  if (openers && sections.length > 1) {
    const all = (open) => () => sections.forEach((one) => { one.open = open; });
    openers.append(button("Open all", all(true)), button("Close all", all(false)));
  }
  const reveal = () => {
    const target = document.getElementById(location.hash.slice(1));
    for (let one = target; one; one = one.parentElement) if (one.matches("details")) one.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const one of closed) one.open = true;
    for (const row of rows) row.dataset.was = row.hidden ? "1" : "";
    for (const row of rows) row.hidden = false;
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
    for (const row of rows) row.hidden = row.dataset.was === "1";
  });
})();

"use strict";
for (const session of document.querySelectorAll("section.session")) {
  const stepper = session.querySelector(".stepper");
  if (!stepper) continue;
  const numbers = (element, name) => (element.dataset[name] || "").split(",").map(Number);
  const stops = numbers(stepper, "stops"), said = numbers(stepper, "said");
  const slider = stepper.querySelector("input"), output = stepper.querySelector("output");
  const words = stepper.dataset.marks.split("|");
  const cursor = session.querySelector(".cursor"), [left, right] = numbers(stepper, "edges");
  const calls = Number(stepper.dataset.calls);
  const told = session.querySelector(".told");
  const within = (text, at) => (text || "").split(",").some(range => {
    const [first, end] = range.split("-").map(Number);
    return first <= at && at < end;
  });
  const how = (stretch, at) => {
    const data = stretch.dataset;
    if (within(data.whole, at)) return "kept as it was said";
    if (at < Number(data.cut)) return within(data.quoted, at) ? "quoted" : "folded away";
    return within(data.short, at) ? "shortened or changed" : "as it was said";
  };

  function showText(number, end) {
    const select = told.querySelector("select"), tail = told.querySelector(".tail");
    let current = null;
    for (const config of told.querySelectorAll(".config")) {
      config.hidden = config.dataset.name !== select.value;
      for (const stretch of config.querySelectorAll(".stretch")) {
        const now = Number(stretch.dataset.first) <= number && number <= Number(stretch.dataset.last);
        stretch.hidden = !now;
        if (!config.hidden) stretch.open = config.open = true;
        if (now && !config.hidden) current = stretch;
      }
    }
    tail.replaceChildren();
    for (const row of told.querySelectorAll(".said > li")) {
      const at = Number(row.dataset.at), isSystem = row.classList.contains("system");
      row.hidden = Number(row.dataset.place) >= end;
      if (row.hidden || !current) continue;
      const state = isSystem ? "as it was said" : how(current, at);
      row.dataset.told = state;
      row.querySelector("i").textContent = state;
      if (state === "folded away" || state === "quoted") continue;
      const copy = row.cloneNode(true);
      const short = current.querySelector(`[data-short="${at}"] q`);
      if (short) copy.querySelector("pre").textContent = short.textContent;
      tail.append(copy);
    }
    for (const column of told.querySelectorAll(".said")) column.scrollTop = column.scrollHeight;
  }

  function show() {
    const place = Number(slider.value), number = stops[place];
    output.textContent = number.toLocaleString("en");
    const x = left + (number - 1) / Math.max(1, calls - 1) * (right - left);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    for (const row of stepper.querySelectorAll("tr[data-view]")) {
      const [view, cut, mark] = row.querySelectorAll("td");
      const tokens = row.dataset.view.split(",")[place];
      view.textContent = tokens === "" ? "-" : Number(tokens).toLocaleString("en");
      cut.textContent = Number(row.dataset.cut.split(",")[place]).toLocaleString("en");
      mark.textContent = words[row.dataset.mark[place]];
    }
    if (told) showText(number, said[place]);
  }

  if (told) {
    const select = told.querySelector("select");
    for (const config of told.querySelectorAll(".config"))
      select.append(new Option(config.dataset.name));
    select.addEventListener("input", show);
    told.querySelector(".pick").hidden = false;
    told.classList.add("live");
  }
  slider.closest("label").hidden = false;
  slider.addEventListener("input", show);
  show();
}

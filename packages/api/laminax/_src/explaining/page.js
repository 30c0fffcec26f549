"use strict";
(() => {
  const parts = new Map();  // the elements that belong to each of the user's lines
  for (const element of document.querySelectorAll("[data-p]")) {
    const place = element.dataset.p;
    if (!parts.has(place)) parts.set(place, []);
    parts.get(place).push(element);
  }
  let marked = null, pinned = null;
  const paint = (place, name, on) => { for (const element of parts.get(place) || []) element.classList.toggle(name, on); };
  const mark = place => {
    if (place === marked) return;
    if (marked !== null && marked !== pinned) paint(marked, "on", false);
    marked = place;
    if (place !== null) paint(place, "on", true);
  };
  const intoView = (place, clicked) => {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.hidden || box.contains(clicked)) continue;
      const first = (parts.get(place) || []).find(element => box.contains(element));
      if (first) box.scrollTop += first.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
    }
  };
  const pin = (place, clicked) => {
    const again = place === pinned;
    if (pinned !== null) { paint(pinned, "pin", false); paint(pinned, "on", false); }
    pinned = again ? null : place;
    marked = null;
    if (pinned !== null) { paint(pinned, "on", true); paint(pinned, "pin", true); intoView(pinned, clicked); }
  };
  document.addEventListener("mouseover", event => {
    const element = event.target.closest("[data-p]");
    mark(element ? element.dataset.p : pinned);
  });
  document.addEventListener("click", event => {
    const element = event.target.closest("[data-p]");
    if (element && !event.target.closest("summary")) pin(element.dataset.p, element);
  });
  for (const button of document.querySelectorAll(".tabs button")) {
    button.addEventListener("click", () => {
      for (const other of button.parentElement.children) {
        other.setAttribute("aria-selected", other === button);
        document.getElementById(other.getAttribute("aria-controls")).hidden = other !== button;
      }
      if (pinned !== null) intoView(pinned, null);
    });
  }
  const chart = document.querySelector("svg[data-points]");
  if (chart) {
    const points = JSON.parse(chart.dataset.points), total = Number(chart.dataset.steps);
    const tip = document.querySelector(".tip"), cursor = chart.querySelector(".cursor"), rest = tip.textContent;
    chart.addEventListener("mousemove", event => {
      const box = chart.getBoundingClientRect(), step = (event.clientX - box.left) / box.width * total;
      let point = points[0];
      for (const other of points) if (other[0] <= step) point = other; else break;
      tip.textContent = `step ${point[0]} of ${total}: ${point[1]} in use, ${point[2]}`;
      cursor.setAttribute("x1", point[0] + 0.5); cursor.setAttribute("x2", point[0] + 0.5); cursor.removeAttribute("hidden");
      mark(point[3] === null ? null : String(point[3]));
    });
    chart.addEventListener("mouseleave", () => { tip.textContent = rest; cursor.setAttribute("hidden", ""); mark(pinned); });
  }
})();

// The page works without this. It adds live updates, keys, themes, and a question before a rollback.
"use strict";

const root = document.documentElement;
root.classList.add("script");

// Light, dark, or as the system. Set before anything is drawn.
const themes = ["auto", "light", "dark"];
let theme = "auto";
try { theme = localStorage.getItem("lifelong-theme") || "auto"; } catch { /* no storage: nothing is kept */ }
const applyTheme = () => { root.dataset.theme = theme; };
applyTheme();

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);

function themeSwitch() {
  const button = one("[data-theme-switch]");
  const showTheme = () => { button.querySelector("span").textContent = theme; };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("lifelong-theme", theme); } catch { /* as above */ }
    applyTheme();
    showTheme();
  });
  showTheme();
}

// A form with data-confirm is sent only after a yes.
function confirmations() {
  const dialog = one("#confirm");
  const yes = dialog.querySelector("[value=yes]");
  for (const form of all("form[data-confirm]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sure) return;
      event.preventDefault();
      one("#confirm-text").textContent = form.dataset.confirm;
      yes.textContent = form.dataset.yes;
      dialog.returnValue = "";
      dialog.addEventListener("close", () => {
        if (dialog.returnValue !== "yes") return;
        form.dataset.sure = "1";
        form.requestSubmit();
      }, { once: true });
      dialog.showModal();
    });
  }
}

// A form that takes long says so, and is sent once.
function busy() {
  for (const form of all("form[data-busy]")) {
    form.addEventListener("submit", () => {
      const button = form.querySelector("button");
      button.textContent = form.dataset.busy;
      button.setAttribute("aria-busy", "true");
      setTimeout(() => { button.disabled = true; });
    });
  }
}

// j and k move through the list; Tab goes on to the links and buttons of the selected item.
function step(by) {
  const items = all("[data-item]").filter((item) => item.offsetParent !== null);
  if (!items.length) return;
  const now = items.indexOf(document.activeElement.closest("[data-item]"));
  const next = items[Math.min(items.length - 1, Math.max(0, now + by))];
  next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

let going = 0;
function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog[open]")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (Date.now() - going < 1500) {
    going = 0;
    const link = all("nav [data-key]").find((found) => found.dataset.key === event.key);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  const item = document.activeElement.matches("[data-item]") && document.activeElement;
  const search = one("[data-search]");
  if (event.key === "g") going = Date.now();
  else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key === "?") one("#keys").showModal();
  else if (event.key === "Enter" && item && item.querySelector("a")) item.querySelector("a").click();
  else if (event.key === "/") {
    event.preventDefault();
    if (search) { search.focus(); search.select(); } else one("nav [data-key=f]").click();
  }
}

// Live parts are rendered by the server, like everything else: after an event they are fetched again.
function live() {
  const where = document.body.dataset.events;
  if (!where) return;
  const events = new EventSource(where);
  const state = one("[data-live-state]");
  const showState = (text, isLive) => { state.textContent = text; state.classList.toggle("is-live", isLive); };
  let soon = 0;
  const refresh = async () => {
    const answer = await fetch(location.href).catch(() => null);
    if (!answer || !answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const old of all("[data-live]")) {
      const now = fresh.getElementById(old.id);
      const isUsed = old.contains(document.activeElement) || old.querySelector("details[open]");
      if (now && !isUsed && !now.isEqualNode(old)) old.replaceWith(document.adoptNode(now));
    }
  };
  const changed = () => { clearTimeout(soon); soon = setTimeout(refresh, 250); };
  events.addEventListener("overview", changed);
  events.addEventListener("changeset", changed);
  events.addEventListener("open", () => showState("Live", true));
  events.addEventListener("error", () => showState("Not live; reconnecting", false));
  addEventListener("pagehide", () => events.close());
}

document.addEventListener("DOMContentLoaded", () => {
  themeSwitch();
  confirmations();
  busy();
  live();
  document.addEventListener("keydown", key);
  for (const button of all("[data-open]")) button.addEventListener("click", () => one("#" + button.dataset.open).showModal());
  for (const choice of all("[data-submit]")) choice.addEventListener("change", () => choice.form.requestSubmit());
  if (matchMedia("(max-width: 52rem)").matches) {
    for (const part of all("[data-narrow]")) part.open = false;
    const here = one("nav [aria-current=page]");
    if (here) here.parentElement.scrollLeft = here.offsetLeft - 60;
  }
});

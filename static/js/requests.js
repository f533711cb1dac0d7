/* Rules for all requests other than saves: buttons and forms that change structure, and links.

   The outbox is sent first: a claim must not be split while its new text is still unsaved. A request runs once, however
   often its button is pressed. If the server cannot be reached, the page says so. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const busy = new WeakSet();

  /** The reason an answer states in words, or "". */
  ts.reasonIn = (xhr) => {
    const type = xhr.getResponseHeader("Content-Type") || "";
    const text = xhr.responseText || "";
    if (type.startsWith("text/plain")) return text.slice(0, 300);
    // The body first: a header cannot carry accents or typographic quotes.
    const page = text.includes("data-problem") && new DOMParser().parseFromString(text, "text/html");
    const said = page && page.querySelector("[data-problem]")?.textContent.trim();
    return said || xhr.getResponseHeader("X-Problem") || "";
  };

  /** Shows a message over the page and returns its element. kind: info, success, warning, error. */
  ts.toast = (text, kind = "info") => {
    const list = document.getElementById("toasts");
    if (!list) return null;
    for (const old of list.children) if (old.firstChild.textContent === text) old.remove();
    const toast = document.createElement("div");
    toast.className = `toast ${kind}`;
    const words = document.createElement("span");
    words.textContent = text;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "quiet";
    close.dataset.close = "";
    close.setAttribute("aria-label", "Dismiss");
    close.textContent = "✕";
    toast.append(words, close);
    list.append(toast);
    return toast;
  };

  /* Toasts disappear after a while or at the next action, but not while the pointer or the focus is on them. */
  const TOAST = 8000; // ms
  const born = new WeakMap();
  const isRead = (toast) => toast.matches(":hover, :focus-within");

  function leave(toast) {
    if (isRead(toast)) setTimeout(leave, TOAST / 2, toast);
    else toast.remove();
  }

  function watch(list) {
    for (const toast of list.querySelectorAll(".toast")) {
      if (born.has(toast)) continue;
      born.set(toast, Date.now());
      setTimeout(leave, TOAST, toast);
    }
  }

  function passOver(event) {
    const list = document.getElementById("toasts");
    if (!list || list.contains(event.target)) return;
    // The action that showed a toast must not remove it again.
    for (const toast of list.querySelectorAll(".toast")) if (Date.now() - (born.get(toast) ?? Date.now()) > 400) toast.remove();
  }

  document.addEventListener("click", passOver);
  document.addEventListener("change", passOver);
  document.addEventListener("DOMContentLoaded", () => {
    const list = document.getElementById("toasts");
    if (!list) return;
    watch(list);
    new MutationObserver(() => watch(list)).observe(list, { childList: true, subtree: true });
  });

  const isSink = (el) => el.dataset?.outboxSink !== undefined;
  const waiting = () => ts.outbox.summary().entries.length > 0;

  function setBusy(el, on) {
    if (on) {
      busy.add(el);
      el.setAttribute("aria-busy", "true");
    } else {
      busy.delete(el);
      el.removeAttribute("aria-busy");
    }
  }

  function refuse(reason) {
    const why = reason || "the server cannot be reached";
    ts.toast(`Not done: ${why}. What you typed is kept; try again when it is saved.`, "error");
  }

  document.addEventListener("htmx:confirm", async (event) => {
    const { elt, verb, issueRequest, triggeringEvent } = event.detail;
    if (isSink(elt)) return;
    const changes = verb !== "get";
    if (changes && busy.has(elt)) {
      event.preventDefault();
      return;
    }
    const state = ts.outbox.summary();
    if (!state.entries.length && !(state.offline && changes)) return;
    if (!changes && !triggeringEvent) return; // polling does not wait
    event.preventDefault();
    setBusy(elt, true);
    const sent = await ts.outbox.flush();
    setBusy(elt, false);
    if (changes && !sent.ok) refuse(sent.reason);
    else if (elt.isConnected) issueRequest(false);
    else pressAgain(elt);
  });

  /** Presses the button that replaced the pressed one when a save was answered. */
  function pressAgain(elt) {
    const verb = ["hx-post", "hx-get", "hx-put", "hx-delete"].find((name) => elt.hasAttribute(name));
    if (verb) document.querySelector(`[${verb}="${CSS.escape(elt.getAttribute(verb))}"]`)?.click();
  }

  /* The browser sends no click to a button that was replaced between press and release. If the button now under the
     pointer has the same text, it is clicked. If the pointer stayed and the new button is elsewhere, that one is
     clicked. */
  let press = null;
  let pressedAt = null;
  document.addEventListener(
    "pointerdown",
    (event) => {
      press = event.target.closest?.("button, a[href], label");
      pressedAt = event;
    },
    true,
  );
  document.addEventListener(
    "pointerup",
    (event) => {
      if (!press || press.isConnected || event.button !== 0) return;
      const now = document.elementFromPoint(event.clientX, event.clientY)?.closest("button, a[href], label");
      const stayed = Math.hypot(event.clientX - pressedAt.clientX, event.clientY - pressedAt.clientY) < 8;
      if (now && now.textContent === press.textContent) now.click();
      else if (stayed) pressAgain(press);
    },
    true,
  );

  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, requestConfig } = event.detail;
    if (!isSink(elt) && requestConfig.verb !== "get") setBusy(elt, true);
  });
  document.addEventListener("htmx:afterRequest", (event) => setBusy(event.detail.elt, false));

  document.addEventListener("htmx:responseError", (event) => {
    const { xhr, elt } = event.detail;
    if (isSink(elt) || xhr.status === 409) return;
    const said = ts.reasonIn(xhr);
    if (xhr.status === 422 && !said) return; // the answer is the form with its messages
    ts.toast(`Not done: ${said || `the server answered with error ${xhr.status}`}`, "error");
  });

  for (const failure of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(failure, (event) => {
      if (isSink(event.detail.elt)) return;
      ts.outbox.unreachable();
      const { verb, triggeringEvent } = event.detail.requestConfig;
      if (verb !== "get") refuse();
      else if (triggeringEvent?.type === "click") ts.toast("This can't be loaded while the server cannot be reached. What you typed is kept.", "error");
    });
  }

  // An hx-post form that htmx has not processed yet must not be submitted as a plain form.
  const introduced = new WeakSet();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[hx-post]") || event.defaultPrevented) return;
    event.preventDefault();
    if (introduced.has(form)) return;
    introduced.add(form);
    htmx.process(form);
    form.requestSubmit(event.submitter);
  });

  // Plain forms: send the outbox first, and submit only once.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method === "dialog" || form.matches("[hx-post], [hx-get], [hx-put], [data-local]")) return;
    if (busy.has(form)) {
      event.preventDefault();
      return;
    }
    if (!waiting()) {
      if (form.method !== "get") setBusy(form, true);
      return;
    }
    event.preventDefault();
    const { submitter } = event;
    ts.outbox.flush().then((sent) => (sent.ok ? form.requestSubmit(submitter) : refuse(sent.reason)));
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.forms) setBusy(form, false);
  });

  // Submitted with "and start the next": the server has nothing more of this page.
  document.addEventListener("touchstone:submitted", () => document.getElementById("start-next").requestSubmit());

  // Links wait for the outbox for a few seconds. Unsaved text stays in the browser's storage.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const plain = link && !event.defaultPrevented && event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey);
    if (!plain || link.target || link.hasAttribute("download") || link.matches("[hx-get], [hx-post], [data-anyway]")) return;
    const url = new URL(link.href, location.href);
    if (url.origin !== location.origin || (url.hash && url.pathname + url.search === location.pathname + location.search)) return;
    const state = ts.outbox.summary();
    if (state.offline) {
      event.preventDefault();
      ts.outbox.retry();
      ts.toast("The server cannot be reached, so this page stays open. What you typed is kept.", "error");
    } else if (state.entries.length) {
      event.preventDefault();
      const patience = new Promise((resolve) => setTimeout(resolve, 3000));
      Promise.race([ts.outbox.flush(), patience]).then(() => location.assign(link.href));
    }
  });
})();

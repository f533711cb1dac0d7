/* The fields of records on the page: values, versions, and focus over a swap.

   A field is any input, select or textarea with [data-field] inside a [data-record]. data-field is its name; if empty,
   the `name` attribute is (radio buttons need a different name per record). */
(() => {
  "use strict";
  const ts = (window.touchstone = window.touchstone || {});
  const versions = new WeakMap(); // element -> version of the value it shows

  const recordOf = (el) => el.closest("[data-record]");
  const nameOf = (el) => el.dataset.field || el.name;
  const isToggle = (el) => el.type === "radio" || el.type === "checkbox";

  function find(record, field) {
    return [...document.querySelectorAll(`[data-record="${CSS.escape(record)}"] [data-field]`)].filter(
      (el) => nameOf(el) === field && recordOf(el).dataset.record === record,
    );
  }

  function reading(els, checked, text) {
    if (!isToggle(els[0])) return text(els[0]);
    // Several checkboxes of one field are sent as one value, joined by commas.
    return els
      .filter((el) => checked(el))
      .map((el) => el.value)
      .join(",");
  }

  function shown(record, field) {
    return reading(find(record, field), (el) => el.checked, (el) => el.value);
  }

  /** The value as rendered by the server, regardless of later changes by the browser or the user. */
  function rendered(record, field) {
    const text = (el) => {
      if (el.tagName !== "SELECT") return el.defaultValue;
      const option = [...el.options].find((each) => each.defaultSelected) || el.options[0];
      return option ? option.value : "";
    };
    return reading(find(record, field), (el) => el.defaultChecked, text);
  }

  function write(record, field, value) {
    const els = find(record, field);
    if (!els.length || shown(record, field) === value) return;
    const chosen = value.split(",");
    for (const el of els) {
      if (el.type === "radio") el.checked = el.value === value;
      else if (el.type === "checkbox") el.checked = chosen.includes(el.value);
      else el.value = value;
    }
    els[0].dispatchEvent(new CustomEvent("touchstone:written", { bubbles: true })); // for diff.js, notes.js
  }

  const meta = (record) => document.getElementById(`${record.replace(":", "-")}-meta`);
  const metaVersion = (record) => Number(meta(record)?.dataset.version ?? NaN);

  /** Records the version with which each new field on the page was rendered. */
  function noteVersions() {
    for (const el of document.querySelectorAll("[data-record] [data-field]")) {
      if (!versions.has(el)) versions.set(el, metaVersion(recordOf(el).dataset.record));
    }
  }

  /* Versions are per field, not read from the record when typing begins: saving field A may raise the record's version
     past someone else's change to field B, which this page does not show yet. */
  function version(el) {
    if (!versions.has(el)) noteVersions();
    return versions.get(el) || 0;
  }

  function setVersion(record, field, number) {
    for (const el of find(record, field)) versions.set(el, number);
  }

  function label(el) {
    const own = el.getAttribute("aria-label") || el.closest("fieldset")?.querySelector("legend")?.textContent;
    return (own || el.labels?.[0]?.textContent || nameOf(el)).replace(/\s+/g, " ").trim();
  }

  /** Shows a message at the field, or removes it (null). */
  function problem(record, field, message) {
    const id = `${record}-${field}-problem`.replace(/[^\w-]/g, "-");
    const [el] = find(record, field);
    document.getElementById(id)?.remove();
    if (!el) return;
    if (!message) {
      if (el.getAttribute("aria-describedby") === id) {
        el.removeAttribute("aria-invalid");
        el.removeAttribute("aria-describedby");
      }
      return;
    }
    const note = document.createElement("p");
    note.id = id;
    note.className = "problem";
    note.textContent = message;
    (isToggle(el) ? el.closest("fieldset, label") || el : el).after(note);
    el.setAttribute("aria-invalid", "true");
    if (!el.hasAttribute("aria-describedby")) el.setAttribute("aria-describedby", id);
  }

  /* --- focus over a swap: find the element that corresponds to the replaced one --- */

  let held = null;

  function hold(target) {
    const el = document.activeElement;
    if (!el || el === document.body || !target?.contains?.(el)) return;
    const home = recordOf(el)?.dataset.record;
    const inHome = home ? `[data-record="${CSS.escape(home)}"]` : "";
    const ways = [];
    if (el.id) ways.push(`#${CSS.escape(el.id)}`);
    if (home && "field" in el.dataset) {
      const value = isToggle(el) ? `[value="${CSS.escape(el.value)}"]` : "";
      ways.push(`${inHome} [data-field="${CSS.escape(el.dataset.field)}"]${value}`);
    }
    if (home && el.dataset.record) ways.push(inHome);
    for (const name of ["hx-post", "hx-get", "href"]) {
      if (el.hasAttribute(name)) ways.push(`${inHome} [${name}="${CSS.escape(el.getAttribute(name))}"]`);
    }
    held = { ways, start: el.selectionStart, end: el.selectionEnd, scroll: el.scrollTop };
  }

  function giveFocusBack() {
    if (!held || (document.activeElement && document.activeElement !== document.body)) return;
    const el = held.ways.map((way) => document.querySelector(way)).find(Boolean);
    if (!el) return;
    el.focus({ preventScroll: true });
    try {
      if (typeof held.start === "number") el.setSelectionRange(held.start, held.end);
    } catch {
      // not a text field
    }
    el.scrollTop = held.scroll;
    held = null;
  }

  ts.fields = {
    recordOf, nameOf, find, shown, rendered, write, metaVersion, noteVersions, version, setVersion, label,
    problem, hold, giveFocusBack,
  };
})();

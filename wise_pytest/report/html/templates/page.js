"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  // The ground

  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "Light background" : "Dark background"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; label(); });
  dark.addEventListener("change", label);
  button.hidden = false;
  label();

  // Only what can be scrolled needs a stop of the keyboard.

  const scrollers = document.querySelectorAll(".scroll");
  const stops = () => {
    for (const box of scrollers) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("resize", stops);
  document.addEventListener("toggle", stops, true);
  requestAnimationFrame(stops);

  const folded = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) { details.open = true; folded.push(details); }
  });
  addEventListener("afterprint", () => { for (const details of folded.splice(0)) details.open = false; });

  // The rows

  const holder = byId("wise-rows");
  if (!holder) return;
  const ROW = 56, SPARE = 8, DASH = "–";
  const FILTERS = ["model", "panel", "form", "verdict", "direction", "status", "item"];
  const SEARCHED = ["prompt", "text", "reason", "served_model"];
  const selects = Object.fromEntries(FILTERS.map((name) => [name, byId("f-" + name)]));
  const search = byId("f-search"), list = byId("list"), sheet = byId("sheet"), detail = byId("detail"), count = byId("count");
  let n = 0, columns = {}, matched = [], chosen = -1, haystacks = null, references = null;

  const get = (name, row) => {
    const column = columns[name];
    if (!column) return null;
    return column.indices ? column.values[column.indices[row]] : column.values[row];
  };
  const verdict = (row) => {
    const compliant = get("compliant", row);
    return compliant === true ? "compliant" : compliant === false ? "not compliant" : "not scored";
  };
  const value = (name, row) => name === "verdict" ? verdict(row) : get(name, row);

  async function unpack() {
    const binary = atob(holder.textContent.trim());
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const data = JSON.parse(await new Response(stream).text());
    n = data.n;
    columns = data.columns;
    holder.remove();
  }

  // What does not show is written as its code point.

  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|^ +| +$/gu;
  const codePoints = (text) => Array.from(text, (mark) => "U+" + mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0"));
  function appendVisible(node, text, after = "") {
    let end = 0;
    for (const found of text.matchAll(HIDDEN)) {
      node.append(text.slice(end, found.index));
      for (const point of codePoints(found[0])) node.append(make("span", "invisible", point));
      if (found[0] === "\n") node.append("\n");
      end = found.index + found[0].length;
    }
    node.append(text.slice(end), after);
    return node;
  }
  const oneLine = (text) => text.replace(/\s+/gu, " ").replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (mark) => "<" + codePoints(mark)[0] + ">");

  // Filters

  function fillFilters() {
    for (const name of FILTERS) {
      const seen = new Set();
      for (let row = 0; row < n; row += 1) seen.add(value(name, row));
      const values = [...seen].filter((entry) => entry !== null);
      if (name === "item") values.sort();
      const select = selects[name];
      select.append(new Option("all", ""));
      for (const entry of values) select.append(new Option(oneLine(entry), "=" + entry));
      select.closest("label").hidden = values.length < 2;
    }
  }

  function makeHaystacks() {
    haystacks = new Array(n);
    for (let row = 0; row < n; row += 1) {
      haystacks[row] = SEARCHED.map((name) => get(name, row) || "").join("\n").toLowerCase();
    }
  }

  function apply({ keep = false } = {}) {
    const wanted = FILTERS.filter((name) => selects[name].value).map((name) => [name, selects[name].value.slice(1)]);
    const needle = search.value.trim().toLowerCase();
    if (needle && !haystacks) makeHaystacks();
    const before = matched[chosen];
    matched = [];
    for (let row = 0; row < n; row += 1) {
      if (wanted.every(([name, entry]) => value(name, row) === entry) && (!needle || haystacks[row].includes(needle))) matched.push(row);
    }
    count.textContent = matched.length === n ? n.toLocaleString("en") + " generations"
      : matched.length.toLocaleString("en") + " of " + n.toLocaleString("en") + " generations";
    sheet.style.height = matched.length * ROW + "px";
    const again = keep ? matched.indexOf(before) : -1;
    choose(again >= 0 ? again : matched.length ? 0 : -1, true);
  }

  // The list: only the rows in sight are in the page

  function draw() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
    const last = Math.min(matched.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
    const wanted = new Set();
    for (let place = first; place < last; place += 1) wanted.add(place);
    if (chosen >= 0) wanted.add(chosen);
    sheet.replaceChildren(...[...wanted].sort((a, b) => a - b).map(rowNode));
    if (chosen >= 0) list.setAttribute("aria-activedescendant", "row-" + chosen);
    else list.removeAttribute("aria-activedescendant");
  }

  function rowNode(place) {
    const row = matched[place];
    const node = make("div", "row");
    node.id = "row-" + place;
    node.setAttribute("role", "option");
    node.setAttribute("aria-selected", String(place === chosen));
    node.setAttribute("aria-posinset", place + 1);
    node.setAttribute("aria-setsize", matched.length);
    node.style.top = place * ROW + "px";
    node.dataset.place = place;
    const line = make("span", "line");
    line.append(badge(row), make("strong", "", oneLine(get("form", row))));
    line.append(make("span", "grow", oneLine([get("item", row), "r" + get("repetition", row), get("model", row)].join(" · "))));
    line.append(make("span", "small", outcome(row)));
    const text = get("text", row);
    const snippet = text === null ? get("reason", row) || DASH : text === "" ? "(empty output)" : text;
    node.append(line, make("span", "cut", oneLine(snippet.slice(0, 300))));
    return node;
  }

  function badge(row) {
    const said = verdict(row);
    const [kind, mark] = said === "compliant" ? ["yes", "✓"] : said === "not compliant" ? ["no", "✕"] : ["none", DASH];
    const node = make("span", "badge " + kind, mark);
    node.setAttribute("role", "img");
    node.setAttribute("aria-label", said);
    return node;
  }

  const signed = (number) => (number > 0 ? "+" : number < 0 ? "−" : "") + Math.abs(number);
  function outcome(row) {
    const parts = [];
    const status = get("status", row), direction = get("direction", row), error = get("error", row);
    if (status !== "ok") parts.push(status);
    if (direction !== null) parts.push(direction.replaceAll("_", " "));
    if (error) parts.push(signed(error));
    return oneLine(parts.join(" "));
  }

  function choose(place, quietly) {
    chosen = place;
    if (place >= 0) {
      const top = place * ROW, bottom = top + ROW;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
    }
    draw();
    show(place < 0 ? null : matched[place]);
    if (!quietly) detail.scrollTop = 0;
  }

  list.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  list.addEventListener("click", (event) => {
    const node = event.target.closest(".row");
    if (node) choose(Number(node.dataset.place));
  });
  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || !matched.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(Math.min(Math.max(chosen + steps[event.key], 0), matched.length - 1));
  });
  addEventListener("resize", draw);

  // One generation

  const twinKey = (row) => JSON.stringify(["panel", "model", "item", "repetition"].map((name) => get(name, row)));
  const REFERENCES = JSON.parse(root.dataset.references || "{}");
  const referenceForm = (row) => REFERENCES[get("panel", row)] || "POS";
  function twin(row) {
    if (!references) {
      references = new Map();
      for (let other = 0; other < n; other += 1) {
        if (get("form", other) === referenceForm(other)) references.set(twinKey(other), other);
      }
    }
    const found = references.get(twinKey(row));
    return found === undefined || found === row ? null : found;
  }

  function show(row) {
    detail.replaceChildren();
    if (row === null) {
      detail.append(make("p", "", "No generation fits the filters."));
      return;
    }
    const form = get("form", row);
    const title = make("h3");
    title.append(oneLine([form, get("item", row), "repetition " + get("repetition", row)].join(" · ")));
    detail.append(title, make("p", "small", oneLine([get("model", row), get("provider", row), get("panel", row)].join(" · "))));
    const prompt = get("prompt", row);
    if (prompt !== null) {
      detail.append(make("h4", "", "Prompt"), promptNode(prompt, get("instruction", row)));
    }
    const other = twin(row);
    const outputs = make("div", other === null ? "" : "two");
    outputs.append(outputNode(row));
    if (other !== null) outputs.append(outputNode(other));
    detail.append(outputs, make("h4", "", "Recorded reply"), replyFacts(row));
    const body = reply(row);
    if (body !== null) {
      const details = make("details");
      details.open = true;
      details.append(make("summary", "", "The reply as it was recorded"));
      const raw = make("pre", "raw"), lines = pretty(body);
      // The line breaks of what is laid out here are not the reply's.
      if (lines) for (const line of lines) {
        const content = line.trimStart();
        raw.append(" ".repeat(line.length - content.length));
        appendVisible(raw, content, "\n");
      }
      else appendVisible(raw, body);
      details.append(raw);
      detail.append(details);
    }
  }

  function promptNode(prompt, instruction) {
    const node = make("p", "output");
    const at = instruction ? prompt.lastIndexOf(instruction) : -1;
    if (at < 0) return appendVisible(node, prompt);
    appendVisible(node, prompt.slice(0, at).replace(/ $/u, ""));
    node.append(" ");
    node.append(appendVisible(make("mark"), instruction));
    return appendVisible(node, prompt.slice(at + instruction.length));
  }

  function outputNode(row) {
    const node = make("div");
    const heading = make("h4");
    heading.append("Output under " + oneLine(get("form", row)) + " ", badge(row));
    const said = [];
    const observed = get("observed", row), target = get("target", row);
    if (target !== null) said.push("target " + oneLine(Array.isArray(target) ? target.join(", ") : String(target)));
    if (observed !== null) said.push("observed " + observed);
    const how = outcome(row);
    if (how) said.push(how);
    const text = get("text", row);
    const output = make("p", "output");
    const isolated = make("bdi");
    if (text === null) isolated.append(make("em", "", "no output: " + oneLine(get("reason", row) || get("status", row) || "none was kept")));
    else if (text === "") isolated.append(make("em", "", "the output is empty"));
    else appendVisible(isolated, text);
    output.append(isolated);
    node.append(heading, make("p", "small", said.join(" · ")), output);
    return node;
  }

  const FACTS = [
    ["Status", "status"], ["Finish reason", "finish_reason"], ["Verifier", "verifier"], ["Served model", "served_model"],
    ["Input tokens", "input_tokens"], ["Output tokens", "output_tokens"], ["Reasoning tokens", "reasoning_tokens"],
    ["Latency, seconds", "latency_s"], ["Tries", "attempts"], ["Recorded at", "recorded_at"], ["Flags", "flags"],
    ["Reason", "reason"], ["Request digest", "request_digest"],
  ];
  function replyFacts(row) {
    const node = make("dl", "reply");
    for (const [name, field] of FACTS) {
      const found = get(field, row);
      if (found === null) continue;
      const pair = make("div");
      pair.append(make("dt", "", name), make("dd", "", oneLine(Array.isArray(found) ? found.join(", ") : String(found))));
      node.append(pair);
    }
    return node;
  }

  // The output within a reply is packed once, with the row; see payload.py.
  function reply(row) {
    const body = get("reply", row);
    if (body === null) return null;
    const written = JSON.stringify(get("text", row) || "").slice(1, -1);
    return body.replace(/"\ue000([au])"/u, (whole, letter) => "\"" + (letter === "u" ? written
      : written.replace(/[\u007f-\uffff]/g, (mark) => "\\u" + mark.charCodeAt(0).toString(16).padStart(4, "0"))) + "\"");
  }
  function pretty(body) {
    try { return JSON.stringify(JSON.parse(body), null, 2).split("\n"); } catch { return null; }
  }

  // From the tables to the rows

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.browse");
    if (!link || !n) return;
    // The browser's own jump would take the focus from the list again.
    event.preventDefault();
    byId("generations").scrollIntoView();
    for (const name of FILTERS) selects[name].value = name in link.dataset ? "=" + link.dataset[name] : "";
    search.value = "";
    apply();
    if (link.dataset.repetition) {
      const place = matched.findIndex((row) => String(get("repetition", row)) === link.dataset.repetition);
      if (place >= 0) choose(place);
    }
    list.focus({ preventScroll: true });
  });
  const form = byId("filters");
  let waiting = 0;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => apply({ keep: true }));
  form.addEventListener("input", (event) => {
    if (event.target !== search) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => apply({ keep: true }), 120);
  });
  form.addEventListener("reset", () => setTimeout(apply, 0));

  const loading = byId("loading");
  loading.hidden = false;
  const begin = () => unpack().then(() => {
    fillFilters();
    byId("browser").hidden = false;
    apply();
    loading.hidden = true;
  }).catch((problem) => {
    loading.textContent = "The generations cannot be unpacked by this browser (" + problem + "); they are in generations.jsonl.";
  });
  requestAnimationFrame(() => setTimeout(begin, 0));
})();

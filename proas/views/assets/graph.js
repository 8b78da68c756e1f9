"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const big = data.nodes.length > 600 || data.edges.length > 1500;

  // Colours come from the style sheet, so that light and dark are told in one place.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = () => colour("color-scheme").includes("dark") || getComputedStyle(document.documentElement).colorScheme === "dark";
  const shade = (m, last) => {
    const part = last > 0 ? m / last : 0;
    if (m === last && last > 0) return dark() ? "#1d5b34" : "#bfe8c9";
    return dark() ? `hsl(215, 42%, ${18 + 17 * part}%)` : `hsl(212, 75%, ${96 - 15 * part}%)`;
  };
  // An arrow to a state further on in the same row would run behind those in between: it goes around them.
  const around = (a, b) => {
    const [from, to] = [data.nodes[a], data.nodes[b]];
    return from.y === to.y && Math.abs(from.x - to.x) > 200 ? " around" : "";
  };
  const last = data.tasks.map((task) => task.subgoals.length - 1);

  const elements = [];
  for (const band of data.bands) {
    elements.push({
      group: "nodes", classes: "band", selectable: false, grabbable: false,
      data: { id: `g${band.t}.${band.m}`, w: band.w, h: band.h, room: band.w - 16, name: `${band.m}  ${data.tasks[band.t].subgoals[band.m]}` },
      position: { x: band.x + band.w / 2, y: band.y + band.h / 2 },
    });
  }
  if (data.tasks.length > 1) {
    const tops = new Map();
    for (const band of data.bands) {
      const top = tops.get(band.t);
      if (!top || band.x < top.x) tops.set(band.t, band);
    }
    for (const [t, band] of tops) {
      elements.push({
        group: "nodes", classes: "title", selectable: false,
        data: { id: `t${t}`, name: data.tasks[t].goal }, position: { x: band.x, y: band.y - 26 },
      });
    }
  }
  data.nodes.forEach((node, i) => {
    const classes = ["state"];
    if (node.start) classes.push("start");
    if (node.s === "outside") classes.push("outside");
    if (node.kept) classes.push("kept");
    elements.push({
      group: "nodes", classes: classes.join(" "), position: { x: node.x, y: node.y },
      data: { id: `n${i}`, i, name: node.c.length > 66 ? `${node.c.slice(0, 65)}…` : node.c, m: node.m, t: node.t, v: node.v },
    });
  });
  data.edges.forEach((edge, i) => {
    elements.push({
      group: "edges", classes: `way${edge.s === "unverified" ? " unverified" : ""}${big ? "" : around(edge.a, edge.b)}`,
      data: { id: `e${i}`, i, source: `n${edge.a}`, target: `n${edge.b}`, name: edge.c, v: edge.v, w: 1 + Math.log2(1 + edge.n) },
    });
  });

  data.detours.forEach((way, i) => {
    elements.push({
      group: "edges", classes: `detour${around(way.a, way.b)}`,
      data: { id: `d${i}`, source: `n${way.a}`, target: `n${way.b}`, name: `${way.c} (${way.n} ×)`, w: 2 + Math.log2(way.n) },
    });
  });

  const style = () => {
    const ink = colour("--ink");
    return [
      { selector: "node", style: { "font-family": "system-ui, sans-serif", color: ink, events: "yes" } },
      { selector: ".band", style: {
        shape: "round-rectangle", width: "data(w)", height: "data(h)", "background-color": colour("--panel"),
        "border-width": 1, "border-color": colour("--line"), label: "data(name)", "text-valign": "top",
        "text-halign": "center", "text-margin-y": 52, "font-size": 14, "font-weight": "bold", "text-wrap": "wrap",
        "text-max-width": "data(room)", events: "no", "z-compound-depth": "bottom",
        "min-zoomed-font-size": 6, color: colour("--soft") } },
      { selector: ".title", style: {
        width: 1, height: 1, opacity: 1, "background-opacity": 0, label: "data(name)", "text-valign": "center",
        "text-halign": "right", "font-size": 20, "font-weight": "bold", events: "no", "min-zoomed-font-size": 5 } },
      { selector: ".state", style: {
        shape: "round-rectangle", width: 156, height: 52, "background-color": (n) => shade(n.data("m"), last[n.data("t")]),
        "border-width": 1.5, "border-color": colour("--edge"), label: "data(name)", "text-wrap": "wrap",
        "text-max-width": 148, "text-valign": "center", "text-halign": "center", "font-size": 11.5, "line-height": 1.1,
        "min-zoomed-font-size": 5, "z-index": 10 } },
      { selector: ".start", style: { "border-width": 4, "border-color": ink } },
      { selector: ".outside", style: {
        "border-style": "dashed", "border-color": colour("--unreasonable"), "background-color": colour("--ground") } },
      { selector: ".way", style: {
        width: "data(w)", "line-color": colour("--edge"), "target-arrow-color": colour("--edge"),
        "target-arrow-shape": "triangle", "arrow-scale": 0.9, "curve-style": big ? "straight" : "bezier",
        opacity: big ? 0.55 : 0.8, "z-index": 5 } },
      { selector: ".detour", style: {
        width: "data(w)", "line-color": colour("--unreasonable"), "target-arrow-color": colour("--unreasonable"),
        "line-style": "dotted", "target-arrow-shape": "triangle", "curve-style": "bezier", opacity: 0.9, "z-index": 8 } },
      { selector: ".unverified", style: { "line-style": "dotted" } },
      { selector: "node.new", style: { "border-width": 3, "border-color": colour("--accent") } },
      { selector: "edge.new", style: {
        "line-color": colour("--accent"), "target-arrow-color": colour("--accent"), opacity: 1, "z-index": 6 } },
      { selector: ".named", style: {
        label: "data(name)", "font-size": 11.5, color: ink, "text-background-color": colour("--ground"),
        "text-background-opacity": 0.92, "text-background-padding": 2, "text-rotation": "none", "z-index": 30,
        opacity: 1, "line-color": colour("--focus"), "target-arrow-color": colour("--focus"), "text-wrap": "wrap",
        "text-max-width": 130 } },
      { selector: ".faded", style: { opacity: 0.13 } },
      { selector: "edge.faded", style: { opacity: 0.07 } },
      { selector: "node.found", style: { "border-width": 4, "border-color": colour("--focus") } },
      { selector: "node.at", style: { "border-width": 5, "border-color": colour("--focus"), "z-index": 40 } },
      { selector: ".walk", style: {
        width: 5, "curve-style": "bezier", "control-point-step-size": 34, "target-arrow-shape": "triangle",
        opacity: 0.16, "z-index": 20 } },
      { selector: ".walk:loop", style: {
        "control-point-step-size": 95, "loop-direction": "90deg", "loop-sweep": "26deg" } },
      { selector: ".around", style: {
        "curve-style": "unbundled-bezier", "control-point-distances": [92], "control-point-weights": [0.5] } },
      { selector: ".walk.around", style: { "control-point-distances": [108] } },
      { selector: ".walk.done", style: { opacity: 1 } },
      { selector: ".walk.now", style: {
        width: 8, opacity: 1, "z-index": 50, "z-compound-depth": "top", label: "data(name)", "font-size": 13, "font-weight": "bold", color: ink,
        "text-background-color": colour("--ground"), "text-background-opacity": 0.95, "text-background-padding": 3,
        "text-wrap": "wrap", "text-max-width": 170 } },
      { selector: ".progress", style: { "line-color": colour("--progress"), "target-arrow-color": colour("--progress") } },
      { selector: ".reasonable", style: {
        "line-color": colour("--reasonable"), "target-arrow-color": colour("--reasonable"), "line-style": "dashed",
        "line-dash-pattern": [9, 5] } },
      { selector: ".unreasonable", style: {
        "line-color": colour("--unreasonable"), "target-arrow-color": colour("--unreasonable"), "line-style": "dotted" } },
      { selector: ".unlabelled", style: { "line-color": colour("--soft"), "target-arrow-color": colour("--soft") } },
      { selector: ".gone", style: { display: "none" } },
    ];
  };

  const cy = cytoscape({
    container: find("drawing"), elements, style: style(), layout: { name: "preset" }, autoungrabify: true,
    boxSelectionEnabled: false, minZoom: 0.01, maxZoom: 3, textureOnViewport: big,
    hideEdgesOnViewport: big, pixelRatio: big ? 1 : "auto",
  });
  window.proas = { cy, data };

  const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  const say = (text) => { find("said").textContent = text; };
  const make = (tag, text, attributes = {}) => {
    const made = document.createElement(tag);
    if (text !== null) made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };

  // Whole, but not so small that nothing can be read: then the beginning.
  const whole = () => {
    cy.fit(cy.elements(":visible"), 24);
  };
  const begin = () => {
    whole();
    if (cy.zoom() >= 0.55) return;
    const box = cy.elements(".band").boundingBox();
    const zoom = 0.62;
    cy.viewport({ zoom, pan: { x: 24 - box.x1 * zoom, y: (data.tasks.length > 1 ? 52 : 24) - box.y1 * zoom } });
  };

  const hideStrays = () => cy.nodes(".outside").difference(".kept").addClass("gone");

  // The rooms of the subgoals reach down to the lowest state that can be seen.
  const fitRooms = () => {
    const lowest = new Map();
    cy.nodes(".state").forEach((node) => {
      if (!node.hasClass("outside") || !node.hasClass("gone")) {
        lowest.set(node.data("t"), Math.max(node.position("y"), lowest.get(node.data("t")) ?? -Infinity));
      }
    });
    data.bands.forEach((band) => {
      const height = Math.min(band.h, (lowest.get(band.t) ?? band.y) + 50 - band.y);
      const drawn = cy.getElementById(`g${band.t}.${band.m}`);
      drawn.data("h", height).position({ x: band.x + band.w / 2, y: band.y + height / 2 });
    });
  };

  // Versions
  let stop = data.moments.length - 1;
  const visible = (element, k) => element.data("v") <= k;
  const showVersion = (index) => {
    stop = Math.max(0, Math.min(data.moments.length - 1, index));
    const moment = data.moments[stop];
    const before = data.after !== null ? data.after : stop > 0 ? data.moments[stop - 1].k : moment.k;
    const counts = { states: 0, ways: 0, newStates: 0, newWays: 0 };
    cy.batch(() => {
      for (const [selector, all, fresh] of [[".state", "states", "newStates"], [".way", "ways", "newWays"]]) {
        cy.elements(selector).forEach((element) => {
          if (element.hasClass("outside")) return;
          const there = visible(element, moment.k);
          const isNew = there && element.data("v") > before;
          element.toggleClass("gone", !there).toggleClass("new", isNew);
          if (there) counts[all] += 1;
          if (isNew) counts[fresh] += 1;
        });
      }
    });
    find("version").value = String(stop);
    find("version").setAttribute("aria-valuetext", `version ${moment.k}`);
    const told = [moment.run, moment.at].filter(Boolean).join(", ");
    find("shown").textContent = `${moment.k}`;
    find("shown").title = told;
    const what = data.after !== null ? `new since version ${data.after}` : "new in this version";
    document.querySelectorAll(".fresh").forEach((place) => { place.textContent = what; });
    const of = data.moments[data.moments.length - 1].k;
    say(`Version ${moment.k} of ${of}${told ? ` (${told})` : ""}: ${count(counts.states, "state")}, ${count(counts.ways, "transition")}; `
      + `${what}: ${count(counts.newStates, "state")}, ${count(counts.newWays, "transition")}.`);
    document.querySelectorAll("#grown button").forEach((button) => {
      if (button.dataset.stop === String(stop)) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
  };
  // When what is drawn was learnt: a button for each version after the first that brought some of it.
  const grown = new Map();
  for (const [all, one] of [[data.nodes, "states"], [data.edges, "ways"]]) {
    for (const { v, s } of all) {
      if (v > (data.after ?? data.moments[0].k) && s !== "outside") {
        const made = grown.get(v) || { states: 0, ways: 0 };
        made[one] += 1;
        grown.set(v, made);
      }
    }
  }
  if (grown.size) {
    const list = make("ul", null);
    for (const v of [...grown.keys()].sort((a, b) => a - b)) {
      const index = data.moments.findIndex((moment) => moment.k === v);
      if (index < 0) continue;
      const { states, ways: learnt } = grown.get(v);
      const button = make("button", `${v}`, { "data-stop": index, title: `+${count(states, "state")}, +${count(learnt, "transition")}`,
        "aria-label": `version ${v}: ${count(states, "state")} and ${count(learnt, "transition")} more` });
      button.addEventListener("click", () => showVersion(index));
      const item = make("li", null);
      item.append(button);
      list.append(item);
    }
    find("grown").append(make("span", "Learnt in version"), list);
  }
  find("version").addEventListener("input", (event) => showVersion(Number(event.target.value)));
  let timer = null;
  const pause = () => { clearInterval(timer); timer = null; find("play").textContent = "Play"; find("play").setAttribute("aria-pressed", "false"); };
  find("play").addEventListener("click", () => {
    if (timer) { pause(); return; }
    find("play").textContent = "Pause"; find("play").setAttribute("aria-pressed", "true");
    if (stop === data.moments.length - 1) showVersion(0);
    timer = setInterval(() => { if (stop >= data.moments.length - 1) pause(); else showVersion(stop + 1); }, 1100);
  });

  // What is chosen
  const facts = (pairs) => {
    const list = make("dl", null);
    for (const [name, value] of pairs) list.append(make("dt", name), make("dd", String(value)));
    return list;
  };
  const ways = (edges, end, word) => {
    const list = make("ul", null, { class: "plain" });
    edges.forEach((edge) => {
      const button = make("button", `${edge.data("name")}  ${word} ${edge[end]().data("name")}`);
      button.addEventListener("click", () => choose(edge[end](), true));
      const item = make("li", null);
      item.append(button);
      list.append(item);
    });
    return list;
  };
  let at = null;
  const letGo = () => {
    cy.batch(() => { cy.elements().removeClass("named"); cy.nodes().removeClass("at"); });
    at = null;
    if (walking === null) find("chosen").replaceChildren();
  };
  const intoView = (node) => {
    // No further than needed, so that what was around it stays around it.
    const box = node.renderedBoundingBox();
    const shift = (low, high, size) => {
      const room = Math.min(60, size / 8);
      if (low < 0) return room - low;
      return high > size ? size - room - high : 0;
    };
    const by = { x: shift(box.x1, box.x2, cy.width()), y: shift(box.y1, box.y2, cy.height()) };
    if (by.x || by.y) cy.panBy(by);
  };
  const choose = (node, speak) => {
    const panel = find("chosen");
    cy.batch(() => { cy.elements().removeClass("named"); cy.nodes().removeClass("at"); node.addClass("at"); });
    at = node;
    const own = data.nodes[node.data("i")];
    const out = node.outgoers(".way, .detour").filter(":visible");
    const into = node.incomers(".way, .detour").filter(":visible");
    out.addClass("named");
    intoView(node);
    const told = data.tasks[own.t].subgoals[own.m];
    const parts = [
      make("h2", own.c),
      facts([
        ["subgoal", `${own.m} ${told}`], ["facts", own.f.join("; ") || "none"],
        ["source", own.s === "outside" ? "not in the graph; a rollout was there" : own.s || "-"], ["since", `version ${own.v}`],
      ]),
      make("h3", `${count(out.length, "action")} from here`), ways(out, "target", "→"),
      make("h3", `${into.length} that lead here`), ways(into, "source", "←"),
    ];
    if (own.s === "outside") parts[1].lastChild.textContent = "-";
    if (walking === null) panel.replaceChildren(...parts);
    if (speak) say(`${own.c}. Subgoal ${own.m}, ${told}. ${count(out.length, "action")} from here.`);
  };
  cy.on("tap", "node.state", (event) => choose(event.target, true));
  cy.on("tap", (event) => { if (event.target === cy) letGo(); });
  cy.on("tap", "edge.way, edge.detour", (event) => { cy.edges().removeClass("named"); event.target.addClass("named"); });
  cy.on("mouseover", "edge.way, edge.detour", (event) => event.target.addClass("named"));
  cy.on("mouseout", "edge.way, edge.detour", (event) => { if (!at || event.target.source() !== at) event.target.removeClass("named"); });

  // Search
  const search = find("search");
  let found = [];
  let hit = -1;
  const look = () => {
    const wanted = search.value.trim().toLowerCase();
    found = [];
    hit = -1;
    cy.batch(() => {
      cy.elements(".state, .way").removeClass("found faded");
      if (!wanted) return;
      const states = new Set();
      data.nodes.forEach((node, i) => { if ([node.c, ...node.f].join("\n").toLowerCase().includes(wanted)) states.add(i); });
      data.edges.forEach((edge) => { if (edge.c.toLowerCase().includes(wanted)) states.add(edge.a); });
      cy.nodes(".state").forEach((node) => {
        const is = states.has(node.data("i")) && !node.hasClass("gone");
        if (is) found.push(node);
        node.toggleClass("found", is).toggleClass("faded", !is);
      });
      cy.edges(".way").addClass("faded");
    });
    find("hits").textContent = wanted ? `${found.length} found` : "";
    if (wanted) say(`${found.length} states found. Enter goes from one to the next.`);
  };
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { search.value = ""; look(); return; }
    if (event.key !== "Enter" || !found.length) return;
    event.preventDefault();
    hit = (hit + (event.shiftKey ? found.length - 1 : 1)) % found.length;
    if (cy.zoom() < 0.6) cy.zoom(0.8);
    choose(found[hit], true);
    cy.center(found[hit]);
  });

  // Rollouts
  let walking = null;
  let t = 0;
  const number = (value) => (value === null ? "-" : value === 0 ? "0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`);
  const flag = (step, yes) => (step.l === "" ? "-" : yes ? "1" : "0");
  const stepTable = (rollout) => {
    const panel = find("chosen");
    const made = make("table", null);
    const head = make("tr", null);
    for (const [name, title] of [["t", "step"], ["action", "what the agent did"], ["Re", "reasonable: an edge of the graph"],
      ["PA", "progress: reasonable, and new to this rollout"], ["D", "future drift: steps from here on that are no progress"],
      ["A", "advantage before shaping"], ["Ã", "advantage after shaping"]]) {
      head.append(make("th", name, { scope: "col", title, class: name === "action" ? "" : "number" }));
    }
    const top = make("thead", null);
    top.append(head);
    const rows = make("tbody", null);
    rollout.steps.forEach((step, i) => {
      const row = make("tr", null, { "data-step": String(i) });
      const action = make("td", null);
      const told = step.ok === false ? `${step.c} (not applicable)` : step.seeks ? `${step.c} (looks for it)` : step.c;
      const button = make("button", told, { class: `step ${step.l}` });
      button.addEventListener("click", () => showStep(i + 1));
      action.append(button);
      row.append(make("td", String(i + 1), { class: "number" }), action);
      for (const value of [flag(step, step.l !== "unreasonable"), flag(step, step.l === "progress"),
        step.d === null ? "-" : String(step.d), number(step.base), number(step.shaped)]) {
        row.append(make("td", value, { class: "number" }));
      }
      rows.append(row);
    });
    made.append(make("caption", `${rollout.name}: ${rollout.won ? "solved" : "failed"}${rollout.k === null ? "" : `, labelled by version ${rollout.k}`}`), top, rows);
    panel.replaceChildren(made);
  };
  const showStep = (step) => {
    if (walking === null) return;
    const rollout = data.rollouts[walking];
    t = Math.max(0, Math.min(rollout.steps.length, step));
    cy.batch(() => {
      cy.nodes().removeClass("at");
      cy.edges(".walk").forEach((edge) => {
        const own = edge.data("step");
        edge.toggleClass("done", own < t).toggleClass("now", own === t - 1);
      });
    });
    document.querySelectorAll("#chosen tr[data-step]").forEach((row) => {
      if (Number(row.dataset.step) === t - 1) { row.setAttribute("aria-current", "step"); row.scrollIntoView({ block: "nearest" }); }
      else row.removeAttribute("aria-current");
    });
    find("step").textContent = `${t} of ${rollout.steps.length}`;
    const now = rollout.steps[t - 1];
    const place = now ? now.b : (rollout.steps[0] || { a: null }).a;
    if (place !== null && place !== undefined) {
      const node = cy.getElementById(`n${place}`);
      node.addClass("at");
      intoView(node);
    }
    if (now) {
      const verdict = { progress: "progress", reasonable: "reasonable, seen before", unreasonable: "not in the graph", "": "not labelled" }[now.l];
      say(`Step ${t} of ${rollout.steps.length}: ${now.c}. ${verdict}. Drift ${now.d === null ? "unknown" : now.d}; `
        + `advantage ${number(now.base)}, shaped ${number(now.shaped)}.`);
    } else say(`Rollout ${rollout.name}, before its first step.`);
  };
  const follow = (index) => {
    letGo();
    cy.remove(".walk");
    walking = index;
    hideStrays();
    cy.elements(".way").removeClass("faded");
    if (walking === null) { find("step").textContent = ""; find("chosen").replaceChildren(); fitRooms(); return; }
    const rollout = data.rollouts[walking];
    const added = [];
    rollout.steps.forEach((step, i) => {
      for (const end of [step.a, step.b]) if (end !== null) cy.getElementById(`n${end}`).removeClass("gone");
      if (step.a === null || step.b === null) return;
      added.push({ group: "edges", classes: `walk ${step.l || "unlabelled"}${around(step.a, step.b)}`,
        data: { id: `w${i}`, source: `n${step.a}`, target: `n${step.b}`, step: i, name: `${i + 1}  ${step.c}` } });
    });
    cy.add(added);
    cy.edges(".way").addClass("faded");
    fitRooms();
    stepTable(rollout);
    if (cy.zoom() < 0.6) cy.zoom({ level: 0.75, renderedPosition: { x: 0, y: 0 } });
    showStep(Math.min(1, rollout.steps.length));
  };
  if (find("rollout")) {
    find("rollout").addEventListener("change", (event) => follow(event.target.value === "" ? null : Number(event.target.value)));
    find("back").addEventListener("click", () => showStep(t - 1));
    find("on").addEventListener("click", () => showStep(t + 1));
  }

  // Keys
  const zoom = (factor) => cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  const turn = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const towards = ([dx, dy]) => {
    const states = cy.nodes(".state").filter(":visible");
    if (!states.length) return;
    if (!at || at.hasClass("gone")) { choose(cy.nodes(".start").filter(":visible").first().nonempty() ? cy.nodes(".start").first() : states.first(), true); return; }
    const from = at.position();
    let best = null;
    let least = Infinity;
    states.forEach((node) => {
      const x = node.position("x") - from.x;
      const y = node.position("y") - from.y;
      const along = x * dx + y * dy;
      if (along <= 1) return;
      const cost = along + 3 * Math.abs(x * dy + y * dx);
      if (cost < least) { least = cost; best = node; }
    });
    if (best) choose(best, true);
  };
  find("drawing").addEventListener("keydown", (event) => {
    if (turn[event.key]) { event.preventDefault(); towards(turn[event.key]); }
    if (event.key === "Escape") letGo();
    if (event.key === "Enter" && at) {
      const way = at.outgoers(".way").filter(":visible");
      if (way.length) choose(way.first().target(), true);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const deeds = {
      "/": () => search.focus(), "[": () => showVersion(stop - 1), "]": () => showVersion(stop + 1),
      n: () => showStep(t + 1), p: () => showStep(t - 1), "+": () => zoom(1.25), "-": () => zoom(0.8), f: whole,
    };
    if (deeds[event.key]) { event.preventDefault(); deeds[event.key](); }
  });
  find("in").addEventListener("click", () => zoom(1.25));
  find("out").addEventListener("click", () => zoom(0.8));
  find("fit").addEventListener("click", whole);

  // Light and dark
  const paint = () => {
    cy.style(style());
    document.querySelectorAll(".shade").forEach((place, i) => place.setAttribute("fill", shade(i, 3)));
  };
  find("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; paint(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  paint();
  hideStrays();
  fitRooms();
  showVersion(stop);
  begin();
})();

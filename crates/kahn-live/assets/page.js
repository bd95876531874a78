'use strict';
// Shows what `events` tells. All text that comes from the program is set as text, never as markup.

const STATES = ['busy', 'ready', 'empty', 'full', 'waits-outside'];
const SHARES = ['busy', 'ready', 'empty', 'full', 'outside'];
const SVG = 'http://www.w3.org/2000/svg';
const at = (id) => document.getElementById(id);
const percent = (share) => (share < 0.005 ? '-' : (100 * share).toFixed(0));

/** An element with a text. */
function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

/** A bar of shares, 120 by 12. */
function bar(shares) {
  const svg = document.createElementNS(SVG, 'svg');
  for (const [name, value] of [['width', 120], ['height', 12], ['class', 'bar']]) svg.setAttribute(name, value);
  let x = 0;
  const part = (kind, width) => {
    const rect = document.createElementNS(SVG, 'rect');
    const attributes = { x, y: 0, width: Math.max(width, 0), height: 12, class: kind };
    for (const name of Object.keys(attributes)) rect.setAttribute(name, attributes[name]);
    svg.append(rect);
    x += width;
  };
  shares.forEach((share, state) => part(STATES[state], 120 * share));
  part('rest', 120 - x);
  return svg;
}

function row(cells, kind) {
  const made = element('tr', undefined, kind);
  for (const cell of cells) {
    if (cell instanceof Node && cell.nodeName === 'TD') made.append(cell);
    else if (cell instanceof Node) { const td = element('td'); td.append(cell); made.append(td); }
    else made.append(element('td', cell));
  }
  return made;
}

const number = (text) => element('td', text, 'number');

function short(value) {
  if (value === null) return '-';
  for (const [unit, name] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (value >= unit) return (value / unit).toPrecision(3) + name;
  }
  return value.toFixed(0);
}

let drawn = '';
let asked = false;

/** Fetches the picture if it is another; not more than once in two seconds. */
async function draw(key) {
  if (!key || key === drawn || asked) return;
  asked = true;
  setTimeout(() => { asked = false; }, 2000);
  const answer = await fetch('graph');
  if (!answer.ok) return;
  const picture = new DOMParser().parseFromString(await answer.text(), 'image/svg+xml');
  if (picture.documentElement.nodeName !== 'svg') return;
  at('graph').replaceChildren(document.importNode(picture.documentElement, true));
  drawn = key;
}

/** Colours each box by what its processes do most. */
function colour(boxes) {
  at('graph').querySelectorAll('.box').forEach((box, place) => {
    const state = boxes[place];
    if (!state) return;
    const most = state.shares.indexOf(Math.max(...state.shares));
    STATES.forEach((name, of) => box.classList.toggle(`is-${name}`, of === most));
    box.classList.toggle('is-stuck', state.stuck > 0);
    let title = box.querySelector('title');
    if (!title) box.append((title = document.createElementNS(SVG, 'title')));
    title.textContent = SHARES.map((name, of) => `${name} ${percent(state.shares[of])} %`).join(', ');
  });
}

const part = (of) => (of.count === of.all ? '' : ` (${of.first + 1} to ${of.first + of.count} of them, in turn)`);

function show(told) {
  const rate = told.channels.reduce((sum, channel) => sum + (channel.rate || 0), 0);
  at('summary').textContent = `${told.seconds.toFixed(0)} s, ${told.of_processes.all} processes${part(told.of_processes)}, `
    + `${told.of_channels.all} channels${part(told.of_channels)}, ${short(rate)} messages/s, `
    + `${told.looks} looks in ${told.of_seconds.toFixed(2)} s`;
  const rings = told.rings.map((ring) => element('li', ring));
  if (told.stuck > 0) rings.push(element('li', `${told.stuck} stuck for ever`));
  at('rings').replaceChildren(...rings);
  at('workers').replaceChildren(...told.workers.map(([busy, runs, rank], place) => {
    const worker = element('span', `${place}${rank === null ? '' : ` (rank ${rank})`}: ${percent(busy)} % ${runs} `);
    worker.append(bar([busy, 0, 0, 0, 0]));
    return worker;
  }));
  at('processes').replaceChildren(...told.processes.map((process) => {
    const shares = SHARES.map((name) => process[name]);
    return row([process.name, bar(shares), ...shares.map((share) => number(percent(share))), process.limit],
      process.stuck ? 'stuck' : '');
  }));
  at('channels').replaceChildren(...told.channels.map((channel) => row([
    channel.name,
    `${channel.sender} → ${channel.receiver}`,
    number(`${channel.waiting} of ${channel.capacity}`),
    bar([0, 0, 0, Math.min(1, channel.waiting / Math.max(1, channel.capacity)), 0]),
    number(short(channel.rate)),
    number(channel.received),
    number(channel.growths || '-'),
  ])));
  draw(told.graph);
  if (told.boxes && told.graph === drawn) colour(told.boxes);
}

const events = new EventSource('events');
events.onmessage = (event) => show(JSON.parse(event.data));
events.onerror = () => { at('summary').textContent = 'the run has ended, or does not answer'; };

at('ask').onclick = async () => {
  const answer = await fetch('explain');
  at('explanation').textContent = await answer.text();
  at('explanation').hidden = false;
};

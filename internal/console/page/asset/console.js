// What pages do when scripts are on: they refresh themselves, arrow keys move through a calendar, and one chart can be zoomed.
// Nothing needs it.
'use strict';

// Every half minute the page is read again, unless that would take something away from whoever reads it.
function busy(content) {
  return document.hidden || content.contains(document.activeElement) || !document.getSelection().isCollapsed ||
    content.querySelector('details[open], .uplot') ||
    [...content.querySelectorAll('.wide')].some((e) => e.scrollTop + e.scrollLeft > 0);
}

setInterval(() => {
  const content = document.getElementById('content');
  if (window.htmx && content && !busy(content)) {
    htmx.trigger(content, 'refresh');
  }
}, 30000);

// The arrow keys go from link to link of a grid, Home and End to the first and the last one of a row.
document.addEventListener('keydown', (event) => {
  const cell = event.target.closest('[data-grid] td');
  if (!cell || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
    return;
  }
  const row = cell.parentElement;
  const links = [...row.querySelectorAll('a')];
  const at = links.indexOf(event.target);
  let to;
  switch (event.key) {
    case 'ArrowLeft': to = links[at - 1]; break;
    case 'ArrowRight': to = links[at + 1]; break;
    case 'Home': to = links[0]; break;
    case 'End': to = links[links.length - 1]; break;
    case 'ArrowUp': to = above(row, cell.cellIndex, 'previousElementSibling'); break;
    case 'ArrowDown': to = above(row, cell.cellIndex, 'nextElementSibling'); break;
    default: return;
  }
  event.preventDefault();
  if (to) {
    to.focus();
  }
});

// above finds the nearest link in a column of the rows on one side.
function above(row, column, side) {
  for (let next = row[side]; next; next = next[side]) {
    const link = next.cells[column] && next.cells[column].querySelector('a');
    if (link) {
      return link;
    }
  }
  return null;
}

// number reads a cell: a hole is null, and never 0. So is a number that means something else than the others.
function number(cell) {
  const text = cell.textContent.replaceAll(' ', '');
  return text === '' || 'other' in cell.dataset || Number.isNaN(Number(text)) ? null : Number(text);
}

// colour is what a variable of the style sheet stands for in the colours of today: light or dark.
function colour(element, variable) {
  const probe = element.appendChild(document.createElement('span'));
  probe.style.color = `var(${variable})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

// The chart of a table whose first column has days, whose second one has numbers, and whose third one has those of a day ago where
// they were others.
function zoom(figure) {
  const table = document.getElementById(figure.dataset.series);
  const rows = [...table.tBodies[0].rows].reverse();
  const days = rows.map((row) => Date.parse(row.cells[0].textContent.trim()) / 1000);
  if (days.length < 2 || days.some(Number.isNaN)) {
    return;
  }
  const now = rows.map((row) => number(row.cells[1]));
  const before = rows.map((row) => number(row.cells[2]));
  const lines = { stroke: colour(figure, '--line') };
  const axis = { stroke: colour(figure, '--text'), grid: lines, ticks: lines };
  const picture = figure.querySelector('svg');
  const place = document.createElement('div');
  place.setAttribute('role', 'img');
  place.setAttribute('aria-label', picture.getAttribute('aria-label'));
  figure.querySelector('.axis').remove();
  picture.replaceWith(place);
  const size = () => ({ width: figure.clientWidth, height: 300 });
  const plot = new uPlot({
    ...size(),
    tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), 'Etc/UTC'),
    series: [
      { label: 'Day', value: '{YYYY}-{MM}-{DD}' },
      { label: table.tHead.rows[0].cells[1].textContent, stroke: colour(figure, '--chart-now'), width: 2, points: { show: days.length < 200 } },
      { label: 'A day ago', stroke: colour(figure, '--chart-before'), paths: () => null, points: { show: true, size: 6 } },
    ],
    axes: [
      { ...axis, space: 90, incrs: [1, 7, 14, 28, 91, 182, 364, 728].map((d) => d * 86400), values: (_, at) => at.map((s) => new Date(s * 1e3).toISOString().slice(0, 10)) },
      { ...axis, size: 80 },
    ],
    scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 0] } },
  }, [days, now, before], place);
  new ResizeObserver(() => plot.setSize(size())).observe(figure);
  const hint = document.createElement('p');
  hint.className = 'quiet';
  hint.textContent = 'Drag over the chart to zoom in; click it twice to see all again.';
  figure.append(hint);
}

if (window.uPlot) {
  document.querySelectorAll('figure.zoom').forEach(zoom);
}

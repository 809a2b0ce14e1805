// Moves the cursor of each section's plots along its quiet periods, and says what each comes to. Without
// this script the page shows the same for the quiet period that is recommended.
'use strict';

// A point as the page has it: the quiet period in microseconds; shares of the plot, to the right and up in
// each panel; which note is true of it; the figures as texts.
function start(section) {
  const points = JSON.parse(section.querySelector('.points').textContent);
  const slider = section.querySelector('input');
  const texts = section.querySelectorAll('.figures dd');
  const note = section.querySelector('.figures p');
  const charts = section.querySelectorAll('.main .chart');
  const shorter = section.querySelectorAll('.shorter');

  let shown;

  function show(index) {
    const [quiet, right, ups, said, figures] = points.at[index];
    shown = index;
    slider.value = right * slider.max;
    figures.forEach((text, i) => { if (texts[i].textContent !== text) texts[i].textContent = text; });
    note.textContent = points.notes[said];
    slider.setAttribute('aria-valuetext', figures[0]);
    for (const chart of charts) moveCursor(chart, right, ups, index !== points.start);
    for (const rect of shorter) showShorter(rect, quiet);
  }

  // The point nearest to a share of the plot.
  function nearestTo(right) {
    const distance = (index) => Math.abs(points.at[index][1] - right);
    let nearest = 0;
    for (let i = 1; i < points.at.length; ++i) if (distance(i) < distance(nearest)) nearest = i;
    return nearest;
  }

  // The slider is as long as the plot. What is too small a step for another point, as one of the arrow keys
  // is, goes to the next one.
  function slide() {
    const right = slider.valueAsNumber / slider.max;
    const nearest = nearestTo(right);
    const further = nearest === shown ? Math.sign(right - points.at[shown][1]) : 0;
    show(Math.min(Math.max(nearest + further, 0), points.at.length - 1));
  }

  function point(event) {
    const chart = event.currentTarget;
    const cursor = chart.querySelector('.cursor').dataset;
    const box = chart.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * chart.viewBox.baseVal.width;
    show(nearestTo((x - cursor.left) / (cursor.right - cursor.left)));
  }

  slider.addEventListener('input', slide);
  for (const chart of charts) {
    chart.classList.add('can-drag');
    chart.addEventListener('pointerdown', point);
    chart.addEventListener('pointermove', (event) => { if (event.buttons & 1) point(event); });
  }
  slider.closest('.slider').hidden = false;
  show(points.start);
}

// At the start there is the mark already, where one is.
function moveCursor(chart, right, ups, visible) {
  const cursor = chart.querySelector('.cursor');
  const {left, right: end} = cursor.dataset;
  const x = +left + right * (end - left);
  const line = cursor.querySelector('line');
  line.setAttribute('x1', x);
  line.setAttribute('x2', x);
  cursor.querySelectorAll('circle').forEach((circle, i) => {
    const {top, bottom} = circle.dataset;
    circle.setAttribute('cx', x);
    circle.setAttribute('cy', bottom - ups[i] * (bottom - top));
  });
  cursor.setAttribute('visibility', visible ? 'visible' : 'hidden');
}

// Colours the bars of gaps that are shorter than the quiet period.
function showShorter(rect, quiet) {
  const {left, right, low, high} = rect.dataset;
  const share = Math.log(quiet / low) / Math.log(high / low);
  const x = +left + Math.min(Math.max(share, 0), 1) * (right - left);
  rect.setAttribute('width', x);
}

for (const points of document.querySelectorAll('.points')) start(points.closest('section'));

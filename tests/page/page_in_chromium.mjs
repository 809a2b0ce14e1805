// Opens pages from disk in headless Chromium and checks what page_in_chromium_test.cc asks for. It ends with 0, or
// says what is wrong.
//
//   node page_in_chromium.mjs MODULES DIRECTORY CHECK...
//
// MODULES has playwright-core in its node_modules, DIRECTORY the pages and what is expected of them.
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';

const [modules, directory, ...names] = process.argv.slice(2);
const chromiumPath = '/usr/bin/chromium';

function loadPlaywright() {
  assert(existsSync(chromiumPath), `there is no ${chromiumPath}; ./dev check page installs it`);
  try {
    return createRequire(join(modules, 'package.json'))('playwright-core');
  } catch {
    assert.fail(`there is no playwright-core in ${modules}; ./dev check page installs it`);
  }
}

const read = (name) => readFileSync(join(directory, name), 'utf8');

// Opens a file that may ask for nothing, and hands `look` the page. Whatever it asks for all the same,
// its errors, and what its policy had to refuse are in the report that is returned.
async function open(browser, name, options, look) {
  const url = pathToFileURL(join(directory, name)).href;
  const report = {requests: [], errors: []};
  const context = await browser.newContext({viewport: {width: 1000, height: 1200}, ...options});
  context.setDefaultTimeout(30000);
  await context.route('**/*', (route) => {
    if (route.request().url() === url) return route.continue();
    report.requests.push(route.request().url());
    return route.abort();
  });
  const page = await context.newPage();
  page.on('websocket', (socket) => report.requests.push(socket.url()));
  page.on('pageerror', (error) => report.errors.push(error.message));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) report.errors.push(message.text());
  });
  page.on('dialog', (dialog) => { report.errors.push('a dialog'); dialog.dismiss(); });
  if (options.javaScriptEnabled !== false) {
    await page.exposeFunction('reportViolation', (what) => report.errors.push(`policy: ${what}`));
    await page.addInitScript(() => document.addEventListener(
        'securitypolicyviolation', (event) => window.reportViolation(event.violatedDirective)));
  }
  await page.goto(url);
  await look(page);
  await context.close();
  return report;
}

// The same for a page of ours, which has nothing to report.
async function openClean(browser, name, options, look) {
  const report = await open(browser, name, options, look);
  assert.deepEqual(report, {requests: [], errors: []}, name);
}

// Once two frames are drawn, all that loading has led to has happened.
const settled = (page) => page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

const figures = (page, section = 'section') => page.locator(`${section} .figures dd`).allInnerTexts();

// Of two colours as the style sheet computes them: rgb(r, g, b).
function contrast(one, other) {
  const luminance = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const checks = {
  // Nor do the other pages: each check below that opens one demands it.
  async asksForNothing(browser) {
    for (const name of ['several.html', 'empty.html'])
      await openClean(browser, name, {}, settled);
  },

  // Chromium reads a file of SVG as XML, which is well-formed or an error.
  async chartsAreXmlAndAskForNothing(browser) {
    for (const name of ['several.svg', 'hostile.svg', 'empty.svg']) {
      await openClean(browser, name, {}, async (page) => {
        await settled(page);
        assert.equal(await page.evaluate(() => document.documentElement.nodeName), 'svg');
        assert.equal(await page.locator('parsererror, script').count(), 0, name);
        assert.equal(await page.getByRole('img', {name: /^Folding ratio/}).count(), 1);
      });
    }
  },

  // What the check above relies on: each of these is noticed.
  async noticesRequestsAndForeignScript(browser) {
    const {errors} = await open(browser, 'spoilt.html', {}, settled);
    for (const directive of ['script-src-elem', 'img-src']) assert(errors.includes(`policy: ${directive}`), errors.join());
    const {requests} = await open(browser, 'lax.html', {}, settled);
    assert.deepEqual(requests, ['http://127.0.0.1:9/x.png']);
  },

  async readsWithoutScript(browser) {
    await openClean(browser, 'one.html', {javaScriptEnabled: false}, async (page) => {
      assert.equal(await page.locator('svg.wide:visible').count(), 2);
      assert.equal(await page.locator('table:visible').count(), 4);
      assert.equal(await page.locator('tbody').first().locator('tr:visible').count(), 24);
      assert.equal(await page.locator('input:visible').count(), 0);
      assert.equal((await figures(page))[0], '5 min');
    });
  },

  // Every place of the slider says what was counted from the log.
  async sliderTellsWhatWasCounted(browser) {
    const {events, folded} = JSON.parse(read('expected.json'));
    const grouped = (count) => count.toLocaleString('en-US');
    await openClean(browser, 'one.html', {}, async (page) => {
      const slider = page.getByRole('slider');
      const points = JSON.parse(await page.locator('.points').textContent()).at;
      const places = points.map((at) => at[0]);
      assert.deepEqual(places, Object.keys(folded).map(Number));
      const seen = new Set();
      const look = async (place) => {
        const [quiet, ratio, emissions] = await figures(page);
        const count = folded[places[place]];
        assert.equal(emissions, grouped(events - count), quiet);
        assert.equal(ratio, `${(100 * count / events).toFixed(1)} %`, quiet);
        assert.equal(await slider.getAttribute('aria-valuetext'), quiet);
        seen.add(quiet);
      };
      await slider.focus();
      await page.keyboard.press('Home');
      for (let place = 0; place < 10; ++place) {
        await look(place);
        await page.keyboard.press('ArrowRight');
      }
      for (let place = 10; place < places.length; place += 10) {
        await slider.fill(String(Math.round(10000 * points[place][1])));
        await look(place);
      }
      assert.equal(seen.size, 9 + Math.ceil(places.length / 10));
      await page.keyboard.press('End');
      assert.equal((await figures(page))[0], '1 d');
      assert.equal(await page.locator('.figures p').innerText(), 'Measured.');
      await page.keyboard.press('ArrowLeft');
      assert.match((await figures(page))[5], /^≈ /);
      assert.equal(await page.locator('.figures p').innerText(),
                   'Ratio and emissions are counted; ≈ is interpolated between 12 h and 1 d.');
    });
    await openClean(browser, 'held.html', {}, async (page) => {
      await page.getByRole('slider').focus();
      await page.keyboard.press('ArrowLeft');
      assert.match((await figures(page))[1], /^≈ /);
      assert.match(await page.locator('.figures p').innerText(), /^≈ is interpolated between/);
    });
  },

  async cursorFollowsSliderAndPointer(browser) {
    await openClean(browser, 'one.html', {}, async (page) => {
      const chart = page.locator('.main svg.wide');
      const cursor = chart.locator('.cursor');
      const at = () => cursor.locator('line').evaluate((line) => Number(line.getAttribute('x1')));
      assert.equal(await cursor.getAttribute('visibility'), 'hidden');
      await page.getByRole('slider').focus();
      await page.keyboard.press('ArrowRight');
      assert.equal(await cursor.getAttribute('visibility'), 'visible');
      const before = await at();
      await page.keyboard.press('ArrowRight');
      assert(await at() > before);

      const box = await chart.boundingBox();
      await page.mouse.click(box.x + box.width - 30, box.y + 100);
      assert(await at() > before + 100);
      const late = (await figures(page))[0];
      await page.mouse.move(box.x + box.width / 2, box.y + 100);
      assert.equal((await figures(page))[0], late);
      await page.mouse.down();
      await page.mouse.move(box.x + 150, box.y + 100);
      await page.mouse.up();
      assert.notEqual((await figures(page))[0], late);
      // The cursor is where the pointer was.
      assert(Math.abs(await at() - 150 / box.width * 860) < 4);
    });
  },

  async sliderIsAsLongAsThePlot(browser) {
    for (const width of [1000, 360]) {
      await openClean(browser, 'one.html', {viewport: {width, height: 1200}}, async (page) => {
        const mark = await page.locator('.main .chart:visible line.mark').boundingBox();
        const slider = await page.getByRole('slider').boundingBox();
        const share = await page.getByRole('slider').evaluate((input) => input.value / input.max);
        const thumb = slider.x + 8 + share * (slider.width - 16);
        assert(Math.abs(thumb - mark.x - mark.width / 2) < 2, `${width}: ${thumb}, ${mark.x}`);
      });
    }
  },

  async eachSectionHasASliderOfItsOwn(browser) {
    await openClean(browser, 'several.html', {}, async (page) => {
      assert.equal(await page.getByRole('slider').count(), 4);
      const others = () => figures(page, '#k0');
      const before = await others();
      await page.locator('#k2 input').focus();
      await page.keyboard.press('End');
      assert.equal((await figures(page, '#k2'))[0], '1 d');
      assert.deepEqual(await others(), before);
    });
  },

  async hasNamesForAll(browser) {
    await openClean(browser, 'several.html', {}, async (page) => {
      assert.equal(await page.getByRole('slider', {name: 'Quiet period', exact: false}).count(), 4);
      for (const role of ['img', 'table', 'region']) {
        const all = await page.getByRole(role).count();
        assert(all >= 8, role);
        assert.equal(await page.getByRole(role, {name: /\w{3}/}).count(), all, role);
      }
      assert.equal(await page.locator('[aria-live=polite]').count(), 4);
      assert.equal(await page.locator('table:not(:has(caption)), tbody tr:not(:has(th[scope=row])), ' +
                                      'thead th:not([scope=col])').count(), 0);
      const ids = await page.locator('[id]').evaluateAll((all) => all.map((element) => element.id));
      assert.equal(new Set(ids).size, ids.length);
      const named = await page.locator('[aria-labelledby]').evaluateAll(
          (all) => all.flatMap((element) => element.getAttribute('aria-labelledby').split(' ')));
      for (const id of named) assert(ids.includes(id), id);
    });
  },

  async isLegibleInLightAndDarkAndPrintsLight(browser) {
    await openClean(browser, 'one.html', {}, async (page) => {
      const paperOf = () => page.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
      const inkOf = (text, property) => page.locator(text).first().evaluate(
          (element, name) => getComputedStyle(element)[name], property);
      const papers = {};
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({colorScheme});
        const paper = papers[colorScheme] = await paperOf();
        for (const text of ['h1', 'h1 bdi', '.why', 'dt', 'td', 'caption', '.tag', '.slider label']) {
          const ink = await inkOf(text, 'color');
          assert(contrast(paper, ink) >= 4.5, `${colorScheme}: ${text} is ${ink} on ${paper}`);
        }
        for (const text of ['.tick', '.heading', '.answer', '.value']) {
          const ink = await inkOf(`.wide ${text}`, 'fill');
          assert(contrast(paper, ink) >= 4.5, `${colorScheme}: ${text} is ${ink} on ${paper}`);
        }
      }
      assert(contrast(papers.light, papers.dark) > 15);
      await page.emulateMedia({media: 'print', colorScheme: 'dark'});
      assert.equal(await paperOf(), papers.light);
      assert.equal(await page.locator('.slider:visible').count(), 0);
    });
  },

  async fitsNarrowScreens(browser) {
    for (const name of ['one.html', 'hostile.html']) {
      await openClean(browser, name, {viewport: {width: 360, height: 740}}, async (page) => {
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, name);
        assert.equal(await page.locator('svg.wide:visible').count(), 0);
      });
    }
  },

  async hostileTextsStayTexts(browser) {
    const shown = JSON.parse(read('hostile.json'));
    await openClean(browser, 'hostile.html', {}, async (page) => {
      assert.match(await page.title(), /^Quiet period: <\/script>/);
      assert.equal(await page.locator('script').count(), 2);
      assert.equal(await page.locator('img, iframe, object, embed, link, form').count(), 0);
      assert.equal(await page.evaluate(() => document.querySelectorAll('[onmouseover], [onerror]').length), 0);
      const cells = await page.locator('table').nth(2).locator('tbody th').allTextContents();
      for (const text of shown) assert(cells.includes(text), `${text} is not among ${cells}`);
      assert.match(await page.locator('footer').innerText(), /^Made by pleat analyze/);
    });
  },
};

const {chromium} = loadPlaywright();
// The sandbox of Chromium does not start as root, nor in most containers.
const browser = await chromium.launch({
  executablePath: chromiumPath,
  timeout: 60000,
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking',
         '--host-resolver-rules=MAP * ~NOTFOUND'],
});
try {
  for (const name of names) {
    assert(name in checks, `there is no check ${name}`);
    const start = process.hrtime.bigint();
    await checks[name](browser);
    console.log(`${name}: ${(process.hrtime.bigint() - start) / 1000000n} ms`);
  }
} finally {
  await browser.close();
}

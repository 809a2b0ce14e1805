// Takes the picture of a page for the documentation: from its top down to the figures below the first plot.
//
//   node tests/page/screenshot.mjs PAGE.html PICTURE.png [light|dark]
//
// `./dev check page` installs what this needs. The text is in Inter where that is installed (Debian: fonts-inter).
import {createRequire} from 'node:module';
import {resolve} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const [page, picture, colorScheme = 'light'] = process.argv.slice(2);
const modules = fileURLToPath(new URL('../../build/browser/', import.meta.url));
const {chromium} = createRequire(modules)('playwright-core');

const browser = await chromium.launch({executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu']});
const opened = await browser.newPage({viewport: {width: 980, height: 1600}, deviceScaleFactor: 1.3, colorScheme});
await opened.goto(pathToFileURL(resolve(page)).href);
const box = await opened.locator('.figures').first().boundingBox();
await opened.screenshot({path: picture, clip: {x: 0, y: 0, width: 980, height: box.y + box.height + 32}});
await browser.close();

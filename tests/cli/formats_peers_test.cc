// CSV and JSON that Python's own modules have written, and what these modules read of them.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"

namespace pleat::cli {
namespace {

// Writes a drawn table as argv[3], tsv, json or the separator of CSV, to argv[2]; to standard output the
// records as pleat should show them, one a line. argv[1] is the seed.
constexpr const char* kScript = R"(
import csv, io, json, random, re, sys
seed, file, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
random.seed(seed)
NUMBER = re.compile(r'-?(0|[1-9][0-9]*)(\.[0-9]+)?', re.ASCII)
def compact(value): return json.dumps(value, ensure_ascii=False, separators=(',', ':'))
def shown(field):
    if field == '': return 'null'
    if field in ('true', 'false', 'null') or NUMBER.fullmatch(field): return field
    return compact(field)
PIECES = ['a', 'b c', '"', '""', ',', '\t', '\n', '\r\n', "'", '\\', '\u00e9', '\U0001f600', ' ', '0', '7', '.',
          '-', 'e', '\x01', '\x7f', 'true', 'null', ';', '|', '{', '[']
def text(): return ''.join(random.choice(PIECES) for _ in range(random.randrange(6)))
names = ['k'] + ['n%d%s' % (i, random.choice(['', ' x', '"', ',', '\n'])) for i in range(random.randrange(6))]
rows = [[text() for _ in names] for _ in range(random.randrange(40))]
for row in rows: row[0] = 'key'
if kind == 'json':
    def value(depth):
        choice = random.randrange(8 if depth < 4 else 5)
        if choice >= 6: return [value(depth + 1) for _ in range(random.randrange(4))]
        if choice == 5: return {text() + str(i): value(depth + 1) for i in range(random.randrange(4))}
        return [text(), random.randrange(-10**20, 10**20), random.choice([True, False, None]), text(), 7][choice]
    objects = [{'k': 'key', 'v': value(0)} for _ in rows]
    indent = random.choice([None, 0, 1, 4, '\t'])
    whole = json.dumps(objects, indent=indent, ensure_ascii=False)
    if random.randrange(2): whole = random.choice(['\n', ' ', '']).join(json.dumps(o, indent=indent, ensure_ascii=False)
                                                                          for o in objects)
    open(file, 'w', newline='', encoding='utf-8').write(whole)
    lines = [compact(o) for o in objects]
elif kind == 'tsv':
    def escaped(field):
        for plain, escape in [('\\', r'\\'), ('\t', r'\t'), ('\n', r'\n'), ('\r', r'\r')]: field = field.replace(plain, escape)
        return field
    end = random.choice(['\n', '\r\n'])
    whole = ''.join('\t'.join(map(escaped, r)) + end for r in [names] + rows)
    open(file, 'w', newline='', encoding=random.choice(['utf-8', 'utf-8-sig'])).write(whole)
    lines = ['{' + ','.join(compact(n) + ':' + shown(f) for n, f in zip(names, r)) + '}' for r in rows]
else:
    out = io.StringIO(newline='')
    quoting = random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    end = random.choice(['\n', '\r\n'])
    writer = csv.writer(out, delimiter=kind, quoting=quoting, lineterminator=end)
    writer.writerow(names)
    writer.writerows(rows)
    whole = out.getvalue()
    if random.randrange(2): whole = whole[:-len(end)]
    open(file, 'w', newline='', encoding=random.choice(['utf-8', 'utf-8-sig'])).write(whole)
    header, *records = csv.reader(io.StringIO(whole, newline=''), delimiter=kind)
    lines = ['{' + ','.join(compact(n) + ':' + shown(f) for n, f in zip(header, r)) + '}' for r in records if r]
if lines: print('{"k":"key","_raw":[' + ','.join(lines) + ']}')
)";

TEST(FormatsPeers, PythonAndPleatReadTheSameRecords) {
  TemporaryDirectory dir;
  ForEachSeed(1, 60, [&dir](uint64_t seed) {
    const std::pair<std::string, std::string> kKinds[] = {{",", "csv"},
                                                          {";", "csv --separator ';'"},
                                                          {"\t", "csv --separator '\\t'"},
                                                          {"tsv", "tsv"},
                                                          {"json", "json"}};
    for (const auto& [kind, input] : kKinds) {
      const Finished python =
          RunToEnd({"/usr/bin/python3", "-c", kScript, std::to_string(seed), dir / "in", kind});
      ASSERT_EQ(python.code, 0) << python.err;
      const FoldResult r = FoldByKey("--raw 1000 --input " + input + " " + (dir / "in"), "");
      EXPECT_EQ(r.code, 0) << r.err;
      EXPECT_EQ(r.out, python.out) << Content(dir / "in");
    }
  });
}

}  // namespace
}  // namespace pleat::cli

// JSON that Python's own module has written, and logs that Python writes by the documents of their formats.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"

namespace pleat::cli {
namespace {

// Writes drawn records as argv[3], one of the kinds below, to argv[2]; to standard output what pleat should show
// of them. argv[1] is the seed.
constexpr const char* kScript = R"(
import json, random, re, sys
seed, file, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
random.seed(seed)
NUMBER = re.compile(r'-?(0|[1-9][0-9]*)(\.[0-9]+)?', re.ASCII)
def compact(value): return json.dumps(value, ensure_ascii=False, separators=(',', ':'))
def shown(field):
    if field == '': return 'null'
    if NUMBER.fullmatch(field): return field
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
elif kind == 'zeek':
    def escaped(text, more=()):
        return ''.join(c if 32 < ord(c) < 127 and c != '\\' and c not in more else
                       ''.join('\\x%02x' % b for b in c.encode()) for c in text)
    def field(text, more=()):
        if text in ('-', '(empty)'): return '\\x%02x' % ord(text[0]) + text[1:]
        return escaped(text, more) if text else '(empty)'
    NUMBERS = {'count': ['0', '18446744073709551615'], 'int': ['-7'], 'port': ['443'], 'double': ['1.5', '1e-05', '-2.5E+300'],
               'time': ['1714521600.123456'], 'interval': ['0.000001'], 'bool': ['T', 'F']}
    def drawn(kind, more=()):
        if random.randrange(5) == 0: return '-', 'null'
        if kind in NUMBERS:
            value = random.choice(NUMBERS[kind])
            return value, {'T': 'true', 'F': 'false'}.get(value, value)
        value = text()
        return field(value, more), compact(value)
    def column(kind):
        if '[' not in kind: return drawn(kind)
        if random.randrange(4) == 0: return random.choice([('-', 'null'), ('(empty)', '[]')])
        each = [drawn(kind[kind.index('[') + 1:-1], (',',)) for _ in range(random.randrange(2, 4))]
        return ','.join(e[0] for e in each), '[' + ','.join(e[1] for e in each) + ']'
    names = ['k'] + ['n.%d' % i for i in range(len(names) - 1)]
    types = ['string'] + [random.choice([*NUMBERS, 'string', 'addr', 'set[string]', 'vector[double]']) for _ in names[1:]]
    head = '#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tx\n'
    head += '\t'.join(['#fields'] + names) + '\n' + '\t'.join(['#types'] + types) + '\n'
    whole, lines = head, []
    for _ in rows:
        drawn_row = [('key', '"key"')] + [column(t) for t in types[1:]]
        whole += '\t'.join(d[0] for d in drawn_row) + '\n'
        lines.append('{' + ','.join(compact(n) + ':' + d[1] for n, d in zip(names, drawn_row)) + '}')
        if random.randrange(20) == 0: whole += '#close\tx\n' + head
    open(file, 'w', newline='', encoding='utf-8').write(whole)
elif kind == 'w3c':
    names = ['k'] + ['cs(n%d)' % i for i in range(len(names) - 1)]
    tabs = random.randrange(2)
    def plain(text): return re.sub(r'[\s"]', '+', text) if tabs else re.sub(r'[\n\r\t]', '+', text)
    def field(text):
        if text == '' : return '-'
        return text if tabs or not re.search(r'[ "]|^-$', text) else '"' + text.replace('"', '""') + '"'
    rows = [['key'] + [plain(f) for f in row[1:]] for row in rows]
    if tabs: rows = [[f if f != '-' else '' for f in row] for row in rows]
    end = random.choice(['\n', '\r\n'])
    whole = '#Version: 1.0' + end + '#Fields: ' + ' '.join(names) + end
    whole += ''.join(('\t' if tabs else ' ').join(map(field, row)) + end for row in rows)
    open(file, 'w', newline='', encoding='utf-8').write(whole)
    lines = ['{' + ','.join(compact(n) + ':' + shown(f) for n, f in zip(names, row)) + '}' for row in rows]
elif kind == 'sse':
    whole, lines = ':ok\n\n', []
    for row in rows:
        end = random.choice(['\n', '\r\n', '\r'])
        rest = ','.join(compact(str(i)) + ':' + compact(f) for i, f in enumerate(row))
        split = random.randrange(2)
        whole += random.choice(['', 'event: message' + end, ': x' + end, 'id: [{"a":1}]' + end, 'retry: 3' + end])
        whole += 'data:' + random.choice(['', ' ']) + '{"k":"key",' + (end + 'data: ' if split else '') + rest + '}' + end + end
        lines.append('{"k":"key",' + rest + '}')
    open(file, 'w', newline='', encoding='utf-8').write(whole)
if lines: print('{"k":"key","_raw":[' + ','.join(lines) + ']}')
)";

TEST(FormatsPeers, PythonAndPleatReadTheSameRecords) {
  TemporaryDirectory dir;
  ForEachSeed(1, 60, [&dir](uint64_t seed) {
    const std::pair<std::string, std::string> kKinds[] = {
        {"zeek", "zeek"}, {"w3c", "w3c"}, {"sse", "sse"}, {"json", "json"}};
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

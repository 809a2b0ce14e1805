// Numbers as keys and as elements, held against Python's Decimal, which is exact at any length.
#include <string>

#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"

namespace pleat::cli {
namespace {

// Writes lines to argv[2], and to standard output the groups of their numbers with the reducers of
// numbers. argv[1] is the seed.
constexpr const char* kNumbersScript = R"(
import json, random, sys
from decimal import Decimal, getcontext
getcontext().prec = 2000
seed, file = int(sys.argv[1]), sys.argv[2]
random.seed(seed)
def spelling(number):
    sign, digits, exponent = number
    zeros = random.choice([0, 0, 1, 3])
    written = digits + '0' * zeros          # times ten to the exponent - zeros
    point = random.randrange(1, len(written) + 1)
    whole, fraction = written[:point].lstrip('0') or '0', written[point:]
    power = exponent - zeros + len(fraction)
    if power == 0 and random.randrange(2): tail = ''
    else: tail = random.choice('eE') + random.choice(['', '+'] if power >= 0 else ['']) + random.choice(['', '00']) * (power >= 0) + str(power)
    if -40 < exponent < 40 and random.randrange(2):   # without an exponent
        value = Decimal(int(digits)).scaleb(exponent)
        text = format(value, 'f')
        if '.' in text: text += '0' * random.choice([0, 1])
        elif random.randrange(3) == 0: text += '.0'
        return sign + text
    return sign + whole + ('.' + fraction if fraction else '') + tail
def number():
    digits = random.choice(['0', '1', '12', '5', str(random.randrange(1, 100)), str(2**64 + random.randrange(2)),
                            '1234567890' * 5 + random.choice('12')])
    exponent = random.choice([0, 0, 0, -1, -2, 1, 5, 19, 20, 21, 22, -5, -6, -7, -8, 300, -400, 10**9, -10**9])
    return random.choice(['', '', '-']), digits, exponent
pool = [number() for _ in range(12)]
lines = [(spelling(random.choice(pool)), [spelling(random.choice(pool)) for _ in range(random.randrange(1, 20))])
         for _ in range(200)]
with open(file, 'w') as out:
    for n, v in lines: out.write('{"t":0,"n":%s,"v":[%s],"x":"%s"}\n' % (n, ','.join(v), v[0]))
groups = {}
for n, v in lines:
    key = Decimal(n)
    first, elements = groups.setdefault(key, (n, []))
    elements.append(v)
for first, events in groups.values():
    counts, spell, texts = {}, {}, []
    for v in events:
        texts.append(v[0])
        for e in v:
            d = Decimal(e)
            spell.setdefault(d, e)
            counts[d] = counts.get(d, 0) + 1
    top = sorted(counts, key=lambda d: -counts[d])[:3]   # of equal counts that which came first
    print('{"n":%s,"c":%d,"s":[%s],"d":%d,"t":[%s],"lo":%s,"hi":%s}' % (
        first, len(events), ','.join(spell.values()), len(spell),
        ','.join('{"value":%s,"count":%d}' % (spell[d], counts[d]) for d in top),
        min(texts, key=Decimal), max(texts, key=Decimal)))
)";

TEST(NumberPeers, KeysAndElementsAreThoseOfPythonsDecimal) {
  TemporaryDirectory dir;
  ForEachSeed(1, 20, [&dir](uint64_t seed) {
    const Finished python =
        RunToEnd({"/usr/bin/python3", "-c", kNumbersScript, std::to_string(seed), dir / "in"});
    ASSERT_EQ(python.code, 0) << python.err;
    const Finished r = RunToEnd(Pleat(
        "fold --key n --quiet 1h --time t --time-unit s --no-meta --no-summary --merge "
        "'c=count()' --merge 's=set(v)' "
        "--merge 'd=distinct(v)' --merge 't=top(v,3)' --merge 'lo=min(x)' --merge 'hi=max(x)' " +
        (dir / "in")));
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(r.out, python.out) << Content(dir / "in");
  });
}

}  // namespace
}  // namespace pleat::cli

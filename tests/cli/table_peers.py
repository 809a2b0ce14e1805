#!/usr/bin/env python3
"""Draws tables of CSV and TSV, and holds what pleat reads in them against what other programs read.

    table_peers.py PLEAT [--files N] [--seed S] [--with-duckdb DIRECTORY] [--with-miller MLR]

Python's csv always reads them; with DuckDB, a package in DIRECTORY, and Miller as well, a file counts where all
three find the same fields in it; any other is held against Python alone. What pleat makes of these fields by its documented rules (names that come twice,
numbers, empty fields, records of another length than the header) has to be its output, byte for byte.

A file has a seed of its own, from S on; `--seed S --files 1` repeats one. Where readers disagree is counted and
printed, in all and by what a file has, and the script fails where too few files are left to compare.
"""
import argparse, collections, csv, io, json, os, random, re, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

csv.field_size_limit(1 << 30)
BLOCK = 500  # files that are read at a time
BOM = '\ufeff'

# The least shares of the files, and of those with any one feature, that have to be compared.
LEAST, LEAST_WITH = 0.9, 0.5
# Of these fewer may be: Python refuses the first two, and where it does pleat has to find an invalid record. DuckDB
# refuses other ends of lines than the first, and Miller 6.6 loses a field with a quote inside.
WRONG = {'text behind a quote', 'open quote'}
SELDOM_AGREED = {'mixed ends of lines', 'quote inside a field'}

# --- Tables

Table = collections.namedtuple('Table', 'seed tsv separator features text')

PIECES = ['a', 'b c', 'Ab', '\u00e9', '\U0001f600', '\u4e2d\u6587', ' ', '  ', "'", '\\', '/', '-', '+', '.', '#', '{',
          '[', '%', ',', ';', '|', '\t', '0', '7', '12', 'e', '\x01', '\x7f', '\u2028', '=', '\\"', '\\,', '\\\\']
PLAIN = ['a', 'b', 'c', 'd', ' ', '0', '7', '.', '-', '\u00e9', '\u4e2d\u6587', 'user', 'x' * 15]
WHOLE = ['', '', '0', '-0', '7', '-12.5', '1.10', '007', '7e2', '1E5', '+1', '1.', '.5', '-', '1,5', '0x1F', 'NaN',
         'inf', '12345678901234567890123', 'true', 'false', 'null', 'True', 'NULL', '\\N', '2015-09-12T09:00:00Z',
         '1_000', '#x', ' 1', '1 ', '=1+1', '\u0661']


def draw(seed):
    rng = random.Random(seed)
    features = set()

    def sometimes(feature, one_in):
        if rng.randrange(one_in) == 0: features.add(feature)
        return feature in features

    tsv = rng.randrange(4) == 0
    features.add('TSV' if tsv else 'CSV')
    separator = '\t' if tsv else rng.choice(',,,,,;;;;||||\t\t\t:^')
    if not tsv: features.add('separator ' + {'\t': 'tab'}.get(separator, separator))
    end = '\r\n' if sometimes('CRLF', 3) else '\n'
    quoting = rng.choice(['where needed', 'often', 'always'])
    wrong = rng.choice(['text behind a quote', 'open quote']) if not tsv and rng.randrange(40) == 0 else ''
    if wrong: features.add(wrong)
    bare = not tsv and sometimes('quote inside a field', 30)
    null = sometimes('byte 0', 40)
    plain = sometimes('few marks and longer fields', 3)
    lone = not tsv and sometimes('\\r alone in quotes', 20)

    def text():
        if rng.randrange(3) == 0: return rng.choice(WHOLE)
        if plain and rng.randrange(2):
            number = str(rng.randrange(10 ** rng.choice([1, 2, 5, 12, 15, 16, 17, 20])))
            at = rng.randrange(len(number) + 1)
            return rng.choice(['', '', '-', '0', 'n']) + rng.choice([number, number[:at] + '.' + number[at:]])
        if plain: return ''.join(rng.choice(PLAIN) for _ in range(rng.randrange(40)))
        pieces = PIECES + ['"'] * 3 + (['\0'] if null else [])
        if not tsv: pieces = pieces + ['\n', end, '""'] + (['\r'] if lone else [])
        return ''.join(rng.choice(pieces) for _ in range(rng.randrange(7)))

    def csv_field(field):
        needs = any(c in field for c in (separator, '"', '\n', '\r'))
        if bare and field.find('"') > 0 and not any(c in field for c in (separator, '\n', '\r')): return field
        if not needs and not (quoting == 'always' or quoting == 'often' and rng.randrange(2)): return field
        for feature, sign in [('line end in quotes', '\n'), ('doubled quote', '"'), ('separator in quotes', separator)]:
            if sign in field: features.add(feature)
        return '"' + field.replace('"', '""') + '"'

    def tsv_field(field):
        if field == '\\N':
            features.add('\\N')
            return field
        if rng.randrange(8) == 0: return field.replace('\t', ' ')  # other backslashes than those of escapes
        for plain, escape in [('\\', r'\\'), ('\t', r'\t')]: field = field.replace(plain, escape)
        while rng.randrange(6) == 0:
            at = rng.randrange(len(field) + 1)
            field = field[:at] + rng.choice([r'\n', r'\r', r'\\', r'\t']) + field[at:]
        if '\\' in field: features.add('escapes')
        return field

    def line(fields):
        return separator.join(map(tsv_field if tsv else csv_field, fields))

    columns = 300 if sometimes('300 columns', 150) else 1 + rng.randrange(8)
    header = [rng.choice(['user', 'Sprint', 'k', 'a b', '\u00e9', 'x.y', '7', 'a"b', 'a' + separator + 'b', '',
                          'n%d' % i, 'n%d' % i, 'n%d' % i, 'two' + end + 'lines', 'Sprint_2', 'column_1', ' v'])
              for i in range(columns)]
    if tsv: header = [name.replace(end, ' ') for name in header]
    if columns == 1: header = ['name']
    if rng.randrange(2): header = [n + str(i) if n in header[:i] else n for i, n in enumerate(header)]
    if len(set(header)) < columns: features.add('names that come twice')
    if '' in header: features.add('column without a name')
    rows = [[text() for _ in header] for _ in range(rng.randrange(25))]
    if columns < 10 and sometimes('several blocks of 256 KiB', 200): rows *= 400
    if rows and sometimes('other number of fields', 12):
        for _ in range(1 + rng.randrange(3)):
            row = rng.choice(rows)
            row.append(text()) if rng.randrange(2) or len(row) < 2 else row.pop()
    if rows and not tsv and sometimes('long field', 60):
        rng.choice(rows)[-1] = rng.choice(['x', 'x"', 'x,', end, 'x' + end]) * rng.choice([300, 990])
        if rng.randrange(2): rng.choice(rows)[0] = 'long, ' * rng.choice([20_000, 50_000])
    lines = [line(header)] + [line(row) for row in rows]
    if sometimes('empty lines', 15):
        for _ in range(1 + rng.randrange(3)): lines.insert(rng.randrange(len(lines) + 1), '')
    if sometimes('header again', 30): lines.insert(rng.randrange(1, len(lines) + 1), line(header))
    if wrong and rows:
        at = rng.randrange(1, len(lines))
        lines[at] = '"x"y' + separator + lines[at] if wrong == 'text behind a quote' else lines[at] + separator + '"x'
    whole = end.join(lines)
    if not sometimes('no end of the last line', 4): whole += end
    if sometimes('mixed ends of lines', 40): whole += '\r\n'.join(lines[1:]) + '\n'
    if sometimes('byte order mark', 8): whole = BOM + whole
    return Table(seed, tsv, separator, features, whole)


# --- The other readers. Each gives rows of texts with the header as the first, or None where it refuses the file.

def rows_of_python(table):
    text = io.StringIO(table.text.removeprefix(BOM), newline='')
    how = {'quoting': csv.QUOTE_NONE} if table.tsv else {'strict': True}
    try: return list(csv.reader(text, delimiter=table.separator, **how))
    except csv.Error: return None


class DuckDb:
    def __init__(self, directory):
        sys.path.insert(0, directory)
        import duckdb
        self.name, self.error, self.connection = 'DuckDB ' + duckdb.__version__, duckdb.Error, duckdb.connect()

    # A field that is missing is None, as the text that stands for NULL is in no file.
    def rows(self, table, path, columns):
        quote = '' if table.tsv else '"'
        types = ', '.join(f"'c{i}': 'VARCHAR'" for i in range(columns))
        try:
            return [list(row) for row in self.connection.execute(
                f'''SELECT * FROM read_csv(?, auto_detect = false, header = false, delim = ?, quote = ?, escape = ?,
                      nullstr = 'no such text', null_padding = true, strict_mode = true, parallel = false,
                      max_line_size = 4000000, columns = {{{types}}})''',
                [path, table.separator, quote, quote]).fetchall()]
        except self.error:
            return None

    # Skips empty lines, or reads them as rows with nothing in them.
    def agrees(self, table, rows, python):
        found = []
        for row in rows:
            while row and row[-1] is None: row.pop()
            if row: found.append(row)
        return found == [row for row in python if row]


class Miller:
    def __init__(self, program):
        self.program = program
        self.name = subprocess.run([program, '--version'], capture_output=True, text=True, check=True).stdout.strip()

    # {path: rows}; a file that is refused ends its process, and the others of it are read one by one.
    def rows(self, tables):
        found, groups = {}, collections.defaultdict(list)
        for path, table in tables.items(): groups[table.tsv, table.separator].append(path)
        batches = [(how, paths[i:i + 50]) for how, paths in groups.items() for i in range(0, len(paths), 50)]
        while batches:
            (tsv, separator), paths = batches.pop()
            run = subprocess.run(
                [self.program, '-S', *(['--itsv'] if tsv else ['--icsv', '--ifs', separator]), '--ojsonl',
                 '--implicit-csv-header', '--allow-ragged-csv-input', 'put',
                 '$* = mapsum({"file": FILENAME}, $*)', *paths],
                capture_output=True)
            if run.returncode == 0:
                for path in paths: found[path] = []
                for line in run.stdout.decode().split('\n')[:-1]:
                    path, *row = json.loads(line, strict=False).values()
                    found[path].append(row)
            elif len(paths) > 1:
                batches += [((tsv, separator), [path]) for path in paths]
            else:
                found[paths[0]] = None
        return found

    # Pads short rows, of CSV also empty lines, takes a \r\n in quotes for a \n, and keeps the byte order mark of TSV.
    def agrees(self, table, rows, python):
        width = max(1, len(python[0])) if python else 0
        of_python = [row + [''] * (width - len(row)) for row in python if row or not table.tsv]
        if table.tsv:
            if rows: rows[0][0] = rows[0][0].removeprefix(BOM)
            return rows == [[unescaped(field) for field in row] for row in of_python]
        return rows == [[field.replace('\r\n', '\n') for field in row] for row in of_python]


# --- What pleat has to make of these rows

ESCAPES = {r'\t': '\t', r'\n': '\n', r'\r': '\r', r'\\': '\\'}


def unescaped(field): return re.sub(r'\\[tnr\\]', lambda found: ESCAPES[found[0]], field)


def compact(value): return json.dumps(value, ensure_ascii=False, separators=(',', ':'))


def value_of(table, field):
    if field == '' or table.tsv and field == '\\N': return 'null'
    if table.tsv: field = unescaped(field)
    if re.fullmatch(r'-?(0|[1-9][0-9]*)(\.[0-9]+)?', field): return field
    return compact(field)


def names_of(header):
    taken, seen, names = set(header), set(), []
    for i, name in enumerate(header):
        free = name not in seen if name else 'column_%d' % (i + 1) not in taken
        seen.add(name)
        name = name or 'column_%d' % (i + 1)
        if not free: name = next(n for n in map((name + '_%d').__mod__, range(2, 10**6)) if n not in taken)
        taken.add(name)
        names.append(name)
    return names


# The records as JSON, how many are invalid, and how many fields that is.
def expected(table, rows):
    rows = [row for row in rows if row]
    if not rows: return [], 0, 0
    header = [unescaped(name) if table.tsv else name for name in rows[0]]
    names, records, invalid, fields = list(map(compact, names_of(header))), [], 0, 0
    for row in rows[1:]:
        if len(row) != len(header):
            invalid += 1
        elif [unescaped(field) if table.tsv else field for field in row] != header:
            records.append('{' + ','.join(n + ':' + value_of(table, f) for n, f in zip(names, row)) + '}')
            fields += len(row)
    return records, invalid, fields


# What differs; empty if nothing does. Without records pleat has to find an invalid one, or refuse the header.
def mistake_of_pleat(pleat, table, path, records, invalid):
    kind = ['tsv'] if table.tsv else ['csv', '--separator', table.separator]
    run = subprocess.run(
        [pleat, 'fold', '--input', *kind, '--key', '', '--quiet', '1h', '--raw', '1000000', '--no-meta', '--no-summary',
         '--on-invalid', 'skip', '--threads', '1', '--stats', '-', path],
        capture_output=True)
    out, err = run.stdout.decode(), run.stderr.decode()
    stats = re.search(r'^\{"lines":.*', err, re.MULTILINE)
    found = json.loads(stats[0])['invalid'] if stats else None
    if records is None:
        refused = found or 'the header: a quote that is not closed' in err
        return '' if refused else f'{found} invalid: {err[-500:].strip()}'
    want = '{"_raw":[' + ','.join(records) + ']}\n' if records else ''
    if out != want:
        at = max(0, len(os.path.commonprefix([out, want])) - 100)
        return f'it has\n  {out[at:at + 200]!r}, not\n  {want[at:at + 200]!r}\n{err[-500:].strip()}'
    if found != invalid: return f'{found} invalid, not {invalid}: {err[-500:].strip()}'
    if run.returncode != (1 if invalid and not records else 0):
        return f'exit code {run.returncode}: {err[-500:].strip()}'
    return ''


# --- All of it

class Counts:
    def __init__(self):
        self.drawn, self.compared, self.by_python_alone = (collections.Counter() for _ in range(3))
        self.refused = self.records = self.invalid = self.fields = 0


# Reads the files of a block, and counts. Returns what was wrong, with the table.
def compare(tables, options, readers, pool, counts):
    duckdb, miller = readers
    mistakes, jobs = [], []
    with tempfile.TemporaryDirectory() as scratch:
        by_path = {os.path.join(scratch, str(table.seed)): table for table in tables}
        for path, table in by_path.items():
            with open(path, 'w', newline='', encoding='utf-8') as out: out.write(table.text)
        of_miller = pool.submit(miller.rows, by_path) if miller else None
        of_python = {path: rows_of_python(table) for path, table in by_path.items()}
        of_duckdb = {path: duckdb.rows(by_path[path], path, max(map(len, rows), default=0) + 1)
                     for path, rows in of_python.items() if duckdb and rows is not None}
        for path, table in by_path.items():
            counts.drawn.update(['files', *table.features])
            python = of_python[path]
            if python is None:
                counts.refused += 1
                jobs.append((table, pool.submit(mistake_of_pleat, options.pleat, table, path, None, None)))
                continue
            others = [reader.name for reader, rows in
                      ((duckdb, of_duckdb.get(path)), (miller, of_miller and of_miller.result()[path]))
                      if reader and (rows is None or not reader.agrees(table, rows, python))]
            records, invalid, fields = expected(table, python)
            if others:
                counts.by_python_alone[' and '.join(others)] += 1
            else:
                counts.compared.update(['files', *table.features])
                counts.records += len(records)
                counts.invalid += invalid
                counts.fields += fields
            jobs.append((table, pool.submit(mistake_of_pleat, options.pleat, table, path, records, invalid)))
        for table, job in jobs:
            if job.result(): mistakes.append((table, job.result()))
    return mistakes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('pleat')
    parser.add_argument('--files', type=int, default=10_000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--with-duckdb', metavar='DIRECTORY')
    parser.add_argument('--with-miller', metavar='MLR')
    options = parser.parse_args()
    duckdb = DuckDb(options.with_duckdb) if options.with_duckdb else None
    miller = Miller(options.with_miller) if options.with_miller else None
    names = ["Python's csv"] + [reader.name for reader in (duckdb, miller) if reader]
    print(f'{options.files} files with the seeds from {options.seed} on, read by pleat, {", ".join(names)}')

    counts, mistakes = Counts(), []
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)) + 1) as pool:
        for first in range(options.seed, options.seed + options.files, BLOCK):
            tables = [draw(seed) for seed in range(first, min(first + BLOCK, options.seed + options.files))]
            mistakes += compare(tables, options, (duckdb, miller), pool, counts)
            if len(mistakes) >= 5: break

    for table, mistake in mistakes[:5]:
        print(f'FAILED --seed {table.seed} --files 1, {", ".join(sorted(table.features))}: {mistake}')
        print(f'  the file: {table.text[:1000]!r}')
    print(f'{counts.compared["files"]} files compared: {counts.records} records of {counts.fields} fields, '
          f'{counts.invalid} invalid records')
    print(f'{counts.refused} refused by Python, in which pleat has to find an invalid record')
    print(f'{sum(counts.by_python_alone.values())} compared with Python alone, as others read them in another way: ' +
          ', '.join(f'{n} {who}' for who, n in counts.by_python_alone.most_common()))
    too_few = []
    for feature, drawn in sorted(counts.drawn.items()):
        compared = counts.compared[feature]
        print(f'  {compared:6} of {drawn:6} compared: {feature}')
        if feature in WRONG or feature in SELDOM_AGREED and (duckdb or miller): continue
        if drawn >= 10 and compared < drawn * (LEAST if feature == 'files' else LEAST_WITH): too_few.append(feature)
    if too_few: print('FAILED: too few compared: ' + ', '.join(too_few))
    print(f'{len(mistakes)} files that pleat reads in another way')
    return 1 if mistakes or too_few else 0


if __name__ == '__main__':
    sys.exit(main())

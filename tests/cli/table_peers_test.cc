// Tables of CSV and TSV, read by pleat and by Python. `./dev check tables` draws more of them, and asks DuckDB and
// Miller as well.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/subprocess.h"

namespace pleat::cli {
namespace {

// A failure names the seed of the file.
TEST(TablePeers, PythonAndPleatReadTheSameTables) {
  const Finished python =
      RunToEnd({"/usr/bin/python3", "tests/cli/table_peers.py", PleatProgram(), "--files", "400"});
  EXPECT_EQ(python.code, 0) << python.out << python.err;
}

}  // namespace
}  // namespace pleat::cli

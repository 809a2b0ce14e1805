// The rules catch what they are there to catch: one forbidden line for each, beside an allowed one.
#include "tests/structure/include_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat_structure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(IncludeRules, FolderSeesItselfAndWhatIsLeftOfIt) {
  EXPECT_THAT(Examine("engine/table/a.cc",
                      "#include \"engine/table/slab.h\"\n#include \"engine/base/check.h\"\n"),
              IsEmpty());
  EXPECT_THAT(Examine("engine/core/a.cc", "#include \"engine/outbox/outbox.h\"\n"), IsEmpty());
  EXPECT_THAT(Examine("engine/core/a.cc", "#include \"engine/state/a.h\"\n"), IsEmpty());
  EXPECT_THAT(Examine("engine/state/a.cc",
                      "#include \"engine/base/check.h\"\n"
                      "#include <pleat/untyped/storage.h>\n#include <fcntl.h>\n"),
              IsEmpty());
  EXPECT_THAT(Examine("engine/store/a.cc",
                      "#include \"engine/base/gate.h\"\n#include <pleat/event_store.h>\n"),
              IsEmpty());
}

TEST(IncludeRules, FolderDoesNotSeeWhatIsRightOfItOrInItsColumn) {
  EXPECT_THAT(Examine("engine/store/a.cc", "#include \"engine/state/blocks.h\"\n"),
              ElementsAre(HasSubstr("not left")));
  EXPECT_THAT(Examine("engine/store/a.cc", "#include \"engine/core/snapshot_head.h\"\n"),
              ElementsAre(HasSubstr("not left")));
  EXPECT_THAT(Examine("engine/core/a.cc", "#include \"engine/store/block.h\"\n"),
              ElementsAre(HasSubstr("not left")));
  EXPECT_THAT(Examine("engine/base/a.h", "#pragma once\n\n#include \"engine/table/slab.h\"\n"),
              ElementsAre("engine/base/a.h:3: engine/table/slab.h is not left of this folder"));
  EXPECT_THAT(Examine("engine/table/a.h", "#include \"engine/timer/wheel.h\"\n"),
              ElementsAre(HasSubstr("not left")));
  EXPECT_THAT(Examine("engine/fold/a.h", "#include \"engine/partition/partition.h\"\n"),
              ElementsAre(HasSubstr("not left")));
}

TEST(IncludeRules, EngineSeesPlainPublicHeadersButNotTypedFacesOrAdapters) {
  EXPECT_THAT(Examine("engine/fold/a.cc", "#include <pleat/time.h>\n"), IsEmpty());
  EXPECT_THAT(Examine("engine/core/a.cc", "#include <pleat/folder.h>\n"),
              ElementsAre(HasSubstr("not left")));
  EXPECT_THAT(Examine("engine/core/a.cc", "#include <pleat/json.h>\n"),
              ElementsAre(HasSubstr("not left")));
}

TEST(IncludeRules, PublicHeadersAndUsersOfTheApiDoNotSeeTheEngine) {
  for (const char* path : {"include/pleat/a.h", "tools/pleat/a.cc", "examples/a.cc"}) {
    EXPECT_THAT(Examine(path, "#include \"engine/base/check.h\"\n"),
                ElementsAre(HasSubstr("not left")));
    EXPECT_THAT(Examine(path, "#include <pleat/engine.h>\n"), IsEmpty());
  }
  for (const char* path : {"engine/lines/scan/a.cc", "engine/asio/a.cc"}) {
    EXPECT_THAT(Examine(path, "#include \"engine/core/engine_core.h\"\n"),
                ElementsAre(HasSubstr("not left")));
    EXPECT_THAT(Examine(path, "#include \"engine/base/check.h\"\n"), IsEmpty());
  }
  EXPECT_THAT(Examine("engine/asio/a.cc", "#include \"engine/lines/scan/path.h\"\n"),
              ElementsAre(HasSubstr("not left")));
}

TEST(IncludeRules, WhatReadsLinesHasSixFloorsAndTheCoreSeesNone) {
  const std::string plan = "#include \"engine/lines/plan/event_plan.h\"\n";
  for (const char* path : {"engine/lines/plan/a.cc", "engine/lines/spec/a.cc"}) {
    EXPECT_THAT(Examine(path, plan), IsEmpty());
  }
  for (const char* path : {"engine/lines/scan/a.cc", "engine/lines/reduce/a.cc",
                           "engine/lines/a.cc", "engine/core/a.cc", "engine/fold/a.cc"}) {
    EXPECT_THAT(Examine(path, plan), ElementsAre(HasSubstr("not left")));
  }
}

TEST(IncludeRules, CommandsOfTheProgramShareWhatIsAboveThemAndDoNotSeeEachOther) {
  const std::string shared = "#include \"tools/pleat/input.h\"\n";
  const std::string fold = "#include \"tools/pleat/fold/fold_run.h\"\n";
  for (const char* path : {"tools/pleat/fold/a.cc", "tools/pleat/main.cc"}) {
    EXPECT_THAT(Examine(path, shared + fold), IsEmpty());
  }
  for (const char* path : {"tools/pleat/analyze/a.cc", "tools/pleat/a.cc"}) {
    EXPECT_THAT(Examine(path, shared + fold), ElementsAre(HasSubstr("not left")));
  }
}

TEST(IncludeRules, OwnFileIsNamedFromTheRoot) {
  EXPECT_THAT(Examine("engine/base/a.cc", "#include \"check.h\"\n"),
              ElementsAre(HasSubstr("not left")));
  EXPECT_THAT(Examine("engine/base/a.cc", "#include \"pleat/time.h\"\n"),
              ElementsAre(HasSubstr("angle brackets")));
}

TEST(IncludeRules, ThirdPartyComesInByItsDoor) {
  EXPECT_THAT(Examine("engine/lines/scan/fast_tokenizer.cc", "#include <simdjson.h>\n"), IsEmpty());
  EXPECT_THAT(Examine("engine/lines/scan/a.cc", "#include <simdjson.h>\n"),
              ElementsAre(HasSubstr("does not come in")));
  EXPECT_THAT(Examine("include/pleat/json.h", "#include <simdjson.h>\n"),
              ElementsAre(HasSubstr("does not come in")));
  EXPECT_THAT(Examine("include/pleat/asio.h", "#include <boost/asio/steady_timer.hpp>\n"),
              IsEmpty());
  EXPECT_THAT(Examine("engine/core/a.cc", "#include <boost/asio/steady_timer.hpp>\n"),
              ElementsAre(HasSubstr("does not come in")));
  EXPECT_THAT(Examine("include/pleat/a.h", "#include <boost/intrusive/list.hpp>\n"),
              ElementsAre(HasSubstr("does not come in")));
  EXPECT_THAT(Examine("tools/pleat/a.cc", "#include <zlib.h>\n"), IsEmpty());
}

TEST(IncludeRules, OperatingSystemStaysOutOfTheStateMachines) {
  for (const char* path : {"engine/table/a.cc", "engine/timer/a.cc", "engine/fold/a.cc",
                           "engine/partition/a.cc", "include/pleat/a.h"}) {
    EXPECT_THAT(Examine(path, "#include <sys/random.h>\n"),
                ElementsAre(HasSubstr("does not come in")));
    EXPECT_THAT(Examine(path, "#include <thread>\n"), ElementsAre(HasSubstr("does not come in")));
  }
  EXPECT_THAT(Examine("tools/pleat/a.cc", "#include <unistd.h>\n"), IsEmpty());
}

TEST(IncludeRules, ClockIsReadOnlyByProgramsAndNobodySleeps) {
  const std::string reads = "auto t = std::chrono::steady_clock::now();\n";
  EXPECT_THAT(Examine("engine/core/a.cc", reads), ElementsAre("engine/core/a.cc:1: reads a clock"));
  EXPECT_THAT(Examine("tests/core/a.cc", reads), ElementsAre(HasSubstr("reads a clock")));
  EXPECT_THAT(Examine("tools/pleat/a.cc", reads), IsEmpty());
  EXPECT_THAT(Examine("tests/core/a.cc", "std::this_thread::sleep_for(1ms);\n"),
              ElementsAre(HasSubstr("sleeps")));
}

TEST(IncludeRules, CommentsAndLiteralsAreNotCode) {
  EXPECT_THAT(
      Examine("engine/core/a.cc",
              "// not steady_clock::now()\nLog(\"steady_clock::now()\");  // sleep_for(1s)\n"),
      IsEmpty());
  EXPECT_THAT(Examine("engine/core/a.cc", "Log(R\"(\nsleep_for(1s)\n)\", '\"');\nsleep_for(1s);\n"),
              ElementsAre(HasSubstr("a.cc:4: sleeps")));
}

}  // namespace
}  // namespace pleat_structure

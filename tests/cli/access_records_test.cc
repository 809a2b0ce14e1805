// Lines of access logs as lines of JSON.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/shown_records.h"

namespace pleat::cli {
namespace {

using testing::ElementsAre;

Lines Access(std::string text) { return Convert(InputFormat::kAccess, std::move(text)); }

TEST(AccessRecords, CommonAndCombinedFormat) {
  // The example in Apache's manual.
  const std::string common =
      R"(127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326)";
  const std::string members =
      R"({"host":"127.0.0.1","ident":null,"user":"frank","time":"10/Oct/2000:13:55:36 -0700",)"
      R"("method":"GET","url":"/apache_pb.gif","path":"/apache_pb.gif","protocol":"HTTP/1.0",)"
      R"("status":200,"bytes":2326)";
  EXPECT_THAT(Access(common), ElementsAre("1: " + members + "}"));
  EXPECT_THAT(
      Access(common + R"-( "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98)")-"
                      "\r\n"),
      ElementsAre("1: " + members +
                  R"(,"referer":"http://www.example.com/start.html",)"
                  R"-("agent":"Mozilla/4.08 [en] (Win98)"})-"));
  EXPECT_THAT(Access(common + R"( "-" "curl" 0.004 "10.0.0.7")"),
              ElementsAre("1: " + members +
                          R"(,"referer":null,"agent":"curl","extra":"0.004 \"10.0.0.7\""})"));
  EXPECT_THAT(Access(common + " 0.004"), ElementsAre("1: " + members + R"(,"extra":0.004})"));
  const auto extra = [&](const std::string& text) {
    const Lines lines = Access(common + " \"-\" \"curl\" " + text);
    return lines[0].substr(lines[0].find("\"extra\":") + 8);
  };
  EXPECT_EQ(extra("20.178"), "20.178}");
  EXPECT_EQ(extra("\"0.5\""), "0.5}");
  EXPECT_EQ(extra("\"10.0.0.7, 10.0.0.8\""), "\"10.0.0.7, 10.0.0.8\"}");
  EXPECT_EQ(extra("-"), "null}");
  EXPECT_EQ(extra("\"-\""), "null}");
  EXPECT_EQ(extra("0.5 0.4"), "\"0.5 0.4\"}");
  EXPECT_EQ(extra("rt=0.5"), "\"rt=0.5\"}");
  EXPECT_EQ(extra("\"a\" \"b\""), "\"\\\"a\\\" \\\"b\\\"\"}");
}

TEST(AccessRecords, VirtualHostsUsersWithSpacesAndQueries) {
  EXPECT_THAT(
      Access("\n\nwww.example.com:443 ::1 - - [01/Jan/2024:00:00:00 +0000] \"HEAD /a?b=1&c=?2 "
             "HTTP/2.0\" 304 -\n"
             "::1 - ann b. lee [t] \"POST /? HTTP/1.1\" 500 0\n"),
      ElementsAre(
          R"(3: {"vhost":"www.example.com:443","host":"::1","ident":null,"user":null,)"
          R"("time":"01/Jan/2024:00:00:00 +0000","method":"HEAD",)"
          R"("url":"/a?b=1&c=?2","path":"/a","query":"b=1&c=?2",)"
          R"("protocol":"HTTP/2.0","status":304,"bytes":null})",
          R"(4: {"host":"::1","ident":null,"user":"ann b. lee","time":"t","method":"POST",)"
          R"("url":"/?","path":"/","query":"","protocol":"HTTP/1.1","status":500,"bytes":0})"));
}

TEST(AccessRecords, AUrlMayHaveSpaces) {
  const auto request = [](const std::string& text) {
    const Lines lines = Access("h - - [t] \"" + text + "\" 200 1\n");
    const std::string before = R"(1: {"host":"h","ident":null,"user":null,"time":"t",)";
    const std::string behind = R"(,"status":200,"bytes":1})";
    EXPECT_EQ(lines.size(), 1u);
    EXPECT_TRUE(lines[0].starts_with(before) && lines[0].ends_with(behind)) << lines[0];
    return lines[0].substr(before.size(), lines[0].size() - before.size() - behind.size());
  };
  EXPECT_EQ(request("GET /a b/c HTTP/1.1"),
            R"("method":"GET","url":"/a b/c","path":"/a b/c","protocol":"HTTP/1.1")");
  EXPECT_EQ(request("M-SEARCH /a  b ?c d? =e HTTP/2.0"),
            R"("method":"M-SEARCH","url":"/a  b ?c d? =e","path":"/a  b ",)"
            R"("query":"c d? =e","protocol":"HTTP/2.0")");
  EXPECT_EQ(request("GET  /a HTTP/1.1"),
            R"("method":"GET","url":"/a","path":"/a","protocol":"HTTP/1.1")");
  EXPECT_EQ(request("GET /a HTTP/1.0 HTTP/1.1"),
            R"("method":"GET","url":"/a HTTP/1.0","path":"/a HTTP/1.0","protocol":"HTTP/1.1")");
  EXPECT_EQ(request("GET HTTP/1.1"), R"("method":"GET","url":"","path":"","protocol":"HTTP/1.1")");
  EXPECT_EQ(request("GET  HTTP/1.1"), R"("method":"GET","url":"","path":"","protocol":"HTTP/1.1")");
  // Three words have always been taken as these.
  EXPECT_EQ(request("OPTIONS sip:nm SIP/2.0"),
            R"("method":"OPTIONS","url":"sip:nm","path":"sip:nm","protocol":"SIP/2.0")");
  for (const std::string other :
       {"GET /", "GET /a b c/d", "GET /a b/c http/1.1", R"(\x16\x03 /a b HTTP/1.1)",
        "1 2 3 HTTP/1.1", " GET /a b HTTP/1.1", "HTTP/1.1"}) {
    EXPECT_EQ(request(other).find("\"request\":"), 0u) << other;
  }
}

TEST(AccessRecords, RequestsOfScannersAreOneTextAsTheyStand) {
  const std::string before = "h - - [t] \"";
  const std::string members = R"({"host":"h","ident":null,"user":null,"time":"t","request":)";
  EXPECT_THAT(Access(before +
                     R"(\x16\x03\x01" 400 0)"
                     "\n" +
                     before + "-\" 408 -\n" + before + "\" 400 0\n" + before +
                     R"(say \"hi\" to all" 400 0)"),
              ElementsAre("1: " + members + R"("\\x16\\x03\\x01","status":400,"bytes":0})",
                          "2: " + members + R"(null,"status":408,"bytes":null})",
                          "3: " + members + R"("","status":400,"bytes":0})",
                          "4: " + members + R"("say \\\"hi\\\" to all","status":400,"bytes":0})"));
}

TEST(AccessRecords, WhatIsNoRecordIsRefused) {
  EXPECT_THAT(
      Access("starting up\nh [t] \"GET / HTTP/1.0\" 200 1\nh - - [t \"GET /\" 200 1\n"
             "h - - [t] GET / 200 1\nh - - [t] \"GET / HTTP/1.0\\\" 200 1\n"
             "h - - [t] \"GET / HTTP/1.0\" 200\n"),
      ElementsAre(
          "1: ! expected [TIME] | starting up",
          "2: ! expected HOST IDENT USER before [TIME] | h [t] \"GET / HTTP/1.0\" 200 1",
          "3: ! expected [TIME] | h - - [t \"GET /\" 200 1",
          "4: ! expected a request in quotes behind [TIME] | h - - [t] GET / 200 1",
          "5: ! expected a request in quotes behind [TIME] | h - - [t] \"GET / HTTP/1.0\\\" 200 1",
          "6: ! expected STATUS and BYTES behind the request | "
          "h - - [t] \"GET / HTTP/1.0\" 200"));
}

}  // namespace
}  // namespace pleat::cli

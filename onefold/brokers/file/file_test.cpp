#include "onefold/brokers/file/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "onefold/brokers/file/file_subject.h"
#include "onefold/brokers/file/splitter.h"
#include "onefold/brokers/file/temporary_file.h"
#include "onefold/error.h"

namespace onefold::file {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  Options options() const { return file::options(path.string()); }
  TemporaryFolder folder;
  fs::path path = folder / "orders.jsonl";
};

const std::string three_lines = event("1") + "\n" + event("2") + "\n" + event("3") + "\n";

TEST_F(File, LinesAreDeliveredWithTheirPositions) {
  write(path, three_lines);
  Subject subject{options()};
  const auto deliveries = subject.receive();
  ASSERT_EQ(ids(deliveries), (Ids{"1", "2", "3"}));
  EXPECT_TRUE(subject->at_end());
  EXPECT_EQ(deliveries[1].event.source, "shop");
  EXPECT_EQ(deliveries[1].raw, event("2"));
  const Position& position = deliveries[1].position.value();
  EXPECT_EQ(position.partition->source, "orders");
  EXPECT_EQ(position.partition->name, "");
  EXPECT_TRUE(position.partition->incarnation.starts_with(std::to_string(three_lines.size()) + "-"))
      << position.partition->incarnation;
  const std::uint64_t size = event("1").size() + 1;
  EXPECT_EQ(position.at, (Offset{0, size}));
  EXPECT_EQ(position.next, (Offset{0, 2 * size}));
  EXPECT_EQ(position.partition, deliveries[0].position->partition);
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(File, AnIdFromThePositionIsTheSameAtEveryReading) {
  write(path, three_lines + "nonsense\n" + event("3"));
  Options options = this->options();
  options.identity.id = id_from_position;
  Subject subject{options};
  const auto first = subject.receive();
  ASSERT_EQ(first.size(), 5U);
  const std::string incarnation = first[0].position->partition->incarnation;
  const std::uint64_t size = event("1").size() + 1;
  EXPECT_EQ(first[0].event.id, "orders:" + incarnation + ":0");
  EXPECT_EQ(first[2].event.id, "orders:" + incarnation + ":" + std::to_string(2 * size));
  EXPECT_EQ(first[3].event.id, "");
  EXPECT_NE(first[3].defect, "");
  EXPECT_EQ(first[4].event.id, "orders:" + incarnation + ":" + std::to_string(3 * size + 9));
  EXPECT_EQ(ids(Subject{options}.receive()), ids(first));
  options.path = "-";
  EXPECT_THROW(source(options), Error);
}

TEST_F(File, ByteOrderMarkAndCarriageReturnsAreNoPartOfEvents) {
  write(path, "\xEF\xBB\xBF\r\n" + event("1") + "\r\n\r\n" + event("2") + "\r\n");
  Subject subject{options()};
  const auto deliveries = subject.receive();
  EXPECT_EQ(ids(deliveries), (Ids{"1", "2"}));
  EXPECT_EQ(deliveries.at(0).raw, event("1"));
}

TEST_F(File, DefectsOfElementsAreDeliveriesAndTheFileGoesOn) {
  write(path, "[" + event("1") + ",[" + event("2") + "],{\"id\":]},nonsense," + event("3") +
                  "] outside [" + event("4") + "]");
  Subject subject{options()};
  const auto deliveries = subject.receive();
  EXPECT_EQ(ids(deliveries),
            (Ids{"1", "NOT_AN_OBJECT", "BAD_JSON", "BAD_JSON", "BAD_JSON", "3", "BAD_JSON", "4"}));
  EXPECT_EQ(deliveries.at(1).raw, "[" + event("2") + "]");
  EXPECT_EQ(deliveries.at(6).raw, "outside ");
  EXPECT_EQ(subject.count(Severity::problem), 0U);
}

TEST_F(File, P12_AnOversizedLineIsADefectWithItsBeginning) {
  const std::string large(3 << 20, 'x');
  write(path, event("1") + "\n" + large + "\n" + event("2") + "\n");
  Subject subject{options()};
  const auto deliveries = subject.drain();
  ASSERT_EQ(ids(deliveries), (Ids{"1", "TOO_LARGE", "2"}));
  EXPECT_EQ(deliveries[1].raw,
            std::string(Splitter::kept_bytes_max, 'x') +
                "\n[cut: 3145728 bytes, sha256 "
                "3bea8a9a07c1e8dcaa4c1b816815c35a29b4fb585ba6ecc70ea44840a794cfb3]");
  EXPECT_NE(deliveries[1].defect.find("3145728 bytes at offset 22"), std::string::npos)
      << deliveries[1].defect;
  EXPECT_EQ(deliveries[1].position->next.low, 22 + large.size() + 1);
}

TEST_F(File, P12_ABatchIsBoundedInBytesToo) {
  const std::string large =
      R"({"id":"1","type":"t","data":")" + std::string(1'000'000, 'x') + "\"}";
  for (int i = 0; i < 20; ++i) append(path, large + "\n");
  Subject subject{options()};
  EXPECT_LT(subject.receive(10'000).size(), 12U);
  EXPECT_FALSE(subject->at_end());
}

TEST_F(File, ALimitIsKept) {
  write(path, three_lines);
  Subject subject{options()};
  EXPECT_TRUE(subject.receive(0, 1000).empty());
  EXPECT_EQ(ids(subject.receive(2)), (Ids{"1", "2"}));
  EXPECT_FALSE(subject->at_end());
  EXPECT_EQ(ids(subject.receive(2)), (Ids{"3"}));
  EXPECT_TRUE(subject->at_end());
  EXPECT_TRUE(subject.receive().empty());
}

TEST_F(File, ReadingStartsAgainAtEveryPosition) {
  const std::string array = " [" + event("1") + " , " + event("2") + ",{\"id\":}, [1] ," +
                            event("3") + "]\n[" + event("4") + "]\n";
  for (const std::string& text : {three_lines + "\n" + event("4"), array}) {
    write(path, text);
    const auto all = Subject{options()}.drain();
    for (std::size_t i = 0; i < all.size(); ++i) {
      Subject subject{options()};
      subject.commit(all[i]);
      const auto tail = subject.drain(2);
      ASSERT_EQ(tail.size(), all.size() - i - 1);
      for (std::size_t j = 0; j < tail.size(); ++j) {
        EXPECT_EQ(tail[j].raw, all[i + 1 + j].raw);
        EXPECT_EQ(tail[j].position->at, all[i + 1 + j].position->at);
        EXPECT_EQ(*tail[j].position->partition, *all[i].position->partition);
      }
      EXPECT_TRUE(subject.notices.empty());
    }
  }
}

TEST_F(File, ACopiedOrRestoredFileIsTheSameFile) {
  write(path, three_lines);
  Subject subject{options()};
  subject.commit(subject.receive(2));
  fs::copy_file(path, folder / "copy");
  fs::rename(folder / "copy", path);
  subject.open();
  EXPECT_EQ(ids(subject.drain()), (Ids{"3"}));
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(File, AFileThatGrewIsTheSameFile) {
  write(path, event("1") + "\n");
  Subject subject{options()};
  subject.commit(subject.drain());
  for (int i = 2; i < 1000; ++i) append(path, event(std::to_string(i)) + "\n");
  subject.open();
  EXPECT_EQ(subject.drain().size(), 998U);
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(File, AnotherFileIsReadFromItsStartAndSaid) {
  write(path, three_lines);
  Subject subject{options()};
  const auto former = subject.drain();
  subject.commit(former);
  write(path, event("7") + "\n" + three_lines);
  subject.open();
  const auto deliveries = subject.drain();
  EXPECT_EQ(ids(deliveries), (Ids{"7", "1", "2", "3"}));
  EXPECT_NE(*deliveries.at(0).position->partition, *former.at(0).position->partition);
  ASSERT_EQ(subject.notices.size(), 1U);
  EXPECT_EQ(subject.notices[0].severity, Severity::info);
  EXPECT_NE(subject.notices[0].text.find(path.string()), std::string::npos);
  // Both are remembered.
  subject.commit(deliveries);
  write(path, three_lines);
  subject.open();
  EXPECT_TRUE(subject.drain().empty());
}

TEST_F(File, ATruncatedFileIsReadFromItsStartAsAnotherGeneration) {
  std::string text = event("0") + "\n";
  while (text.size() < 5000) text += event("x") + "\n";
  const std::string start = text;
  write(path, start + three_lines);
  Subject subject{options()};
  subject.commit(subject.drain());
  write(path, start);
  subject.open();
  const auto deliveries = subject.drain();
  EXPECT_EQ(ids(deliveries).front(), "0");
  const std::string& incarnation = deliveries.at(0).position->partition->incarnation;
  EXPECT_EQ(incarnation, subject.stored.at(0).partition->incarnation + ".2");
  EXPECT_EQ(subject.count(Severity::info), 1U);
  subject.commit(deliveries);
  append(path, event("4") + "\n");
  subject.open();
  EXPECT_EQ(ids(subject.drain()), (Ids{"4"}));
}

TEST_F(File, TheIncarnationThatKnowsMoreBytesWins) {
  write(path, event("1") + "\n");
  Subject subject{options()};
  subject.commit(subject.drain());
  write(path, three_lines);
  Subject other{options()};
  other.commit(other.receive(2));
  subject.stored.push_back(other.stored.at(0));
  for (int i = 0; i < 2; ++i) {
    subject.open();
    EXPECT_EQ(ids(subject.drain()), (Ids{"3"}));
    std::swap(subject.stored[0], subject.stored[1]);
  }
}

TEST_F(File, TheEndOfTheFileEndsTheLastLineIfItIsComplete) {
  write(path, event("1") + "\n" + event("2"));
  Subject subject{options()};
  const auto deliveries = subject.drain();
  EXPECT_EQ(ids(deliveries), (Ids{"1", "2"}));
  EXPECT_TRUE(subject->at_end());
  subject.commit(deliveries);
  subject.open();
  EXPECT_TRUE(subject.drain().empty());
  append(path, "\n" + event("3") + "\n");
  subject.open();
  EXPECT_EQ(ids(subject.drain()), (Ids{"3"}));
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(File, ASingleLineWithoutLineEndIsRecognisedToo) {
  write(path, event("1"));
  Subject subject{options()};
  subject.commit(subject.drain());
  subject.open();
  EXPECT_TRUE(subject.drain().empty());
  EXPECT_TRUE(subject->at_end());
}

TEST_F(File, AnIncompleteLastLineIsReportedAndNotConsumed) {
  write(path, event("1") + "\n" + event("secret").substr(0, 15));
  Subject subject{options()};
  const auto deliveries = subject.drain();
  EXPECT_EQ(ids(deliveries), (Ids{"1"}));
  ASSERT_EQ(subject.notices.size(), 1U);
  EXPECT_EQ(subject.notices[0].severity, Severity::problem);
  EXPECT_NE(subject.notices[0].text.find("offset 22"), std::string::npos);
  EXPECT_EQ(subject.notices[0].text.find("secret"), std::string::npos);
  subject.commit(deliveries);
  append(path, event("secret").substr(15) + "\n");
  subject.open();
  EXPECT_EQ(ids(subject.drain()), (Ids{"secret"}));
}

TEST_F(File, AnArrayThatIsCutShortIsReported) {
  write(path, "[" + event("1") + "," + event("2").substr(0, 9));
  Subject subject{options()};
  EXPECT_EQ(ids(subject.drain()), (Ids{"1"}));
  ASSERT_EQ(subject.count(Severity::problem), 1U);
  EXPECT_NE(subject.notices[0].text.find("offset 23"), std::string::npos)
      << subject.notices[0].text;
  write(path, "[" + event("1") + ",");
  Subject open{options()};
  EXPECT_EQ(ids(open.drain()), (Ids{"1"}));
  EXPECT_EQ(open.count(Severity::problem), 1U);
}

TEST_F(File, AnEmptyFileIsAtItsEnd) {
  write(path, "");
  Subject subject{options()};
  EXPECT_TRUE(subject.drain().empty());
  EXPECT_TRUE(subject.notices.empty());
}

TEST_F(File, RepositionGoesBackToTheDatabase) {
  write(path, three_lines);
  Subject subject{options()};
  const auto all = subject.drain();
  subject->release(all, {});
  EXPECT_TRUE(subject.receive().empty());
  subject->reposition();
  EXPECT_FALSE(subject->at_end());
  EXPECT_EQ(ids(subject.receive(1)), (Ids{"1"}));
  subject.commit(all[1]);
  subject->reposition();
  EXPECT_EQ(ids(subject.drain()), (Ids{"3"}));
}

TEST_F(File, WhenTheLookUpFailsNothingIsSkipped) {
  write(path, three_lines);
  Subject subject{options()};
  subject.failures = 1;
  EXPECT_THROW(subject.receive(), Error);
  EXPECT_EQ(ids(subject.drain()), (Ids{"1", "2", "3"}));
  write(path, event("1"));
  subject.open();
  subject.failures = 1;
  EXPECT_THROW(subject.receive(), Error);
  EXPECT_EQ(ids(subject.drain()), (Ids{"1"}));
}

TEST_F(File, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  fs::create_directory(folder / "folder");
  write(folder / "file", "");
  for (const fs::path& wrong : {folder / "missing", folder / "fifo", folder / "folder",
                                fs::path{"/dev/null"}, folder / "file" / "below"}) {
    try {
      Subject subject{file::options(wrong.string())};
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_configuration) << wrong;
      EXPECT_NE(std::string{error.what()}.find(wrong.string()), std::string::npos) << error.what();
    }
  }
}

TEST_F(File, ADescriptorIsNotInheritedByChildren) {
  write(path, three_lines);
  Subject subject{options()};
  int found = 0;
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    std::error_code missing;
    const auto target = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), missing);
    if (missing || target != fs::canonical(path)) continue;
    ++found;
    EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(File, TheFactorySaysWhatDecidesAboutIdentity) {
  Options given = options();
  given.id_prefix = "evt_";
  const SourceFactory factory = source(given);
  EXPECT_EQ(factory.name, "orders");
  EXPECT_EQ(factory.identity, "json: id /id, source literal:shop");
  EXPECT_EQ(factory.id_prefixes, (std::vector<std::string>{"evt_"}));
  EXPECT_EQ(factory.traits.kind, SourceClass::owned_log);
  given.identity.subject = "/subject";
  EXPECT_EQ(source(given).identity, factory.identity);
  given.identity.id_type = IdType::integer;
  EXPECT_EQ(source(given).identity, "json: id /id (integer), source literal:shop");
  EXPECT_EQ(source({.path = "x"}).identity, "cloudevents");
  EXPECT_THROW(source({.path = ""}), Error);
  EXPECT_THROW(source({.path = "x", .format = Format::json}), Error);
}

}  // namespace
}  // namespace onefold::file

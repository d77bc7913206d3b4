#pragma once

#include <cstddef>
#include <string>

namespace onefold::cli {

/// Lets the person change a text with the editor that VISUAL or EDITOR names. The text is in a file
/// of its own meanwhile, which nobody else may read. Ends the command if there is no editor, or if
/// it fails.
class EditedText {
 public:
  explicit EditedText(const std::string& text);
  /// Removes the file, unless it is to be kept.
  ~EditedText();
  EditedText(EditedText&&) = delete;

  /// What the person has left in it: at most `bytes_max`, beyond which the command ends.
  std::string edit(std::size_t bytes_max);
  /// What was written must not be lost: it could not be used as it is.
  const std::string& keep();

 private:
  std::string path_;
  bool kept_ = false;
};

/// All of a file, or with "-" of standard input. Ends the command if it cannot be read, or has more
/// than `bytes_max`.
std::string read_all(const std::string& path, std::size_t bytes_max);

}  // namespace onefold::cli

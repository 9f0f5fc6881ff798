import ArgumentParser
import Glibc

/// The configuration file of a command that needs one: `--config`, else the one that is found.
struct ConfigurationOption: ParsableArguments {
  /// The name endings of configuration files, for the shell's completions.
  static let completion = CompletionKind.file(extensions: ["yaml", "yml", "json"])

  @Option(
    help: "The configuration file (YAML or JSON). Default: ./postern.yaml, else /etc/postern/postern.yaml.",
    completion: Self.completion)
  var config: String?

  /// The path of the file. Without one, or where it is not safe to use, the reason is printed, and the command exits as
  /// for wrong usage.
  func path() throws -> String {
    if let config { return config }
    do throws(DefaultConfiguration.Failure) {
      return try DefaultConfiguration.path()
    } catch {
      FailureNote.print(error.description)
      throw ExitCode.validationFailure
    }
  }
}

/// The same, or the file as an argument.
struct ConfigurationArgument: ParsableArguments {
  @Argument(help: "The configuration file, as with --config.", completion: ConfigurationOption.completion)
  var file: String?

  @OptionGroup var option: ConfigurationOption

  func validate() throws {
    if file != nil, option.config != nil { throw ValidationError("Give the file or --config FILE, not both.") }
  }

  func path() throws -> String { try file ?? option.path() }
}

/// The configuration file where none is named.
enum DefaultConfiguration {
  /// Why there is none.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// In the working directory.
  static let local = "postern.yaml"
  /// The system's.
  static let system = "/etc/postern/postern.yaml"

  /// The first of the two that exists. A file that other users could have put there, or could change, is not taken: it
  /// names the programs' socket and where secrets are sent.
  static func path() throws(Failure) -> String {
    var link = stat()
    if lstat(local, &link) == 0 {
      if let doubt = doubt(link) {
        throw Failure(description: "./\(local) is not used by default: \(doubt); name it with --config to use it")
      }
      return local
    }
    // A directory that cannot be read is reported with the file.
    if access(system, F_OK) == 0 || errno == EACCES { return system }
    throw Failure(
      description: "there is neither ./\(local) nor \(system): name the configuration file with --config")
  }

  /// Why the local file, or link, is not to be trusted; nil where only this user or root can have written it. No
  /// other user can replace it before it is read, either: that takes a directory that others may write to.
  private static func doubt(_ link: stat) -> String? {
    var (file, directory) = (stat(), stat())
    guard stat(".", &directory) == 0 else { return "its directory cannot be looked at" }
    let trusted: Set<uid_t> = [0, geteuid()]
    if !trusted.contains(directory.st_uid) { return "its directory belongs to another user (uid \(directory.st_uid))" }
    if isOpen(directory), directory.st_mode & S_ISVTX == 0 { return "other users can replace files in its directory" }
    if !trusted.contains(link.st_uid) { return "it belongs to another user (uid \(link.st_uid))" }
    // Without a target the reader of the file reports that.
    guard stat(local, &file) == 0 else { return nil }
    if !trusted.contains(file.st_uid) { return "it belongs to another user (uid \(file.st_uid))" }
    return isOpen(file) ? "other users can change it" : nil
  }

  /// Whether others may write: all, or a group that is not the user's own, which has the user's number.
  private static func isOpen(_ status: stat) -> Bool {
    status.st_mode & S_IWOTH != 0 || status.st_mode & S_IWGRP != 0 && status.st_gid != status.st_uid
  }
}

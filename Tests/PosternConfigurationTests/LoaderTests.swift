import Glibc
import PosternSupport
import Testing

@testable import PosternConfiguration

@Suite("The loader on a real disk")
struct LoaderTests {
  /// A directory that is gone when the test is over.
  private struct Directory: ~Copyable {
    let path: String

    init() throws {
      var template = Array("/tmp/postern-configuration-XXXXXX".utf8CString)
      guard let made = mkdtemp(&template) else { throw CancellationError() }
      path = String(cString: made)
    }

    func write(_ name: String, _ text: String, mode: mode_t = 0o600) {
      let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
      _ = text.withCString { Glibc.write(descriptor, $0, strlen($0)) }
      fchmod(descriptor, mode)
      close(descriptor)
    }

    deinit {
      for name in ["postern.yaml", "secret", "link", "pipe", "large"] { unlink("\(path)/\(name)") }
      rmdir(path)
    }
  }

  @Test("A file and its secrets are read from disk, through symbolic links, with their permissions")
  func disk() throws {
    let directory = try Directory()
    directory.write("secret", "s3cret\n", mode: 0o644)
    #expect(symlink("secret", "\(directory.path)/link") == 0)
    directory.write(
      "postern.yaml", "issuers: { a: { issuer: \"https://a.example\", clientId: a, clientSecretFile: link } }",
      mode: 0o640)
    let loaded = try ConfigurationLoader(methodNames: []).load(path: "\(directory.path)/postern.yaml", environment: [:])
    #expect(loaded.configuration.issuers["a"]?.clientSecret?.value.reveal() == "s3cret")
    #expect(loaded.warnings.count == 1)
  }

  @Test("A file that is not there, a directory and a pipe are problems, and none of them hangs")
  func notAFile() throws {
    let directory = try Directory()
    func message(_ path: String) -> String? {
      do throws(ConfigurationProblems) {
        _ = try ConfigurationLoader(methodNames: []).load(path: path, environment: [:])
        return nil
      } catch {
        return error.problems.first?.message
      }
    }
    #expect(message("\(directory.path)/gone.yaml") == "there is no such file")
    #expect(message(directory.path) == "this is not a regular file")
    #expect(mkfifo("\(directory.path)/pipe", 0o600) == 0)
    #expect(message("\(directory.path)/pipe") == "this is not a regular file")
    #expect(message("/dev/zero") == "this is not a regular file")
  }

  @Test("Reading stops at the limit")
  func limit() throws {
    let directory = try Directory()
    directory.write("large", String(repeating: "x", count: 100_000))
    #expect(SystemFiles.read("\(directory.path)/large", limit: 99_999) == .failure(.tooLarge))
    #expect(try SystemFiles.read("\(directory.path)/large", limit: 100_000).get().bytes.count == 100_000)
  }

  @Test("Groups are found by name and by number")
  func groups() {
    #expect(SystemGroups.identifier(of: "root") == 0)
    #expect(SystemGroups.identifier(of: "42") == 42)
    #expect(SystemGroups.identifier(of: "4294967295") == nil)
    #expect(SystemGroups.identifier(of: "99999999999") == nil)
    #expect(SystemGroups.identifier(of: "no-such-group-here") == nil)
  }
}

import Glibc
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternRuntime

@Suite("Reading a body from a descriptor", .timeLimit(.minutes(1)))
struct BodyReaderTests {
  /// Reads to the end; nil when that fails.
  private func all(of reader: BodyReader) async -> [UInt8]? {
    var bytes: [UInt8] = []
    while let piece = await reader.next() {
      guard !piece.isEmpty else { return bytes }
      bytes += piece
    }
    return nil
  }

  @Test("a pipe is read beyond its declared length, or not to its end, or the reader does not wait for bytes")
  func pipe() async throws {
    let pipe = PassedPipe(passesInput: false)
    let declared = try await BodyReader(pipe.passed, length: 3, patience: .seconds(30))
    async let first = all(of: declared)
    write(pipe.own, "12", 2)
    write(pipe.own, "345", 3)
    #expect(await first == Array("123".utf8))
    #expect(declared.length == 3 && !declared.rewind())
    let rest = try await BodyReader(pipe.passed, length: nil, patience: .seconds(30))
    async let second = all(of: rest)
    write(pipe.own, "6", 1)
    close(pipe.own)
    #expect(await second == Array("456".utf8))
    #expect(rest.length == nil)
  }

  @Test("a short, silent or cancelled source passes for a whole one")
  func faults() async throws {
    let short = PassedPipe(passesInput: false)
    write(short.own, "12", 2)
    close(short.own)
    let first = try await BodyReader(short.passed, length: 3, patience: .seconds(30))
    #expect(await all(of: first) == nil)
    #expect(first.failure == .short(read: 2, declared: 3))

    let silent = PassedPipe(passesInput: false)
    let second = try await BodyReader(silent.passed, length: nil, patience: .milliseconds(10))
    #expect(await all(of: second) == nil)
    #expect(second.failure == .silent)
    let third = try await BodyReader(silent.passed, length: nil, patience: .seconds(30))
    let task = Task { await third.next() }
    task.cancel()
    #expect(await task.value == nil)
    #expect(third.failure == nil)
    close(silent.own)
  }

  @Test("a file is read from elsewhere than its offset, or the offset is moved, or it is not read once more")
  func file() async throws {
    let file = memoryFile(Array("0123456789".utf8))
    lseek(file, 4, SEEK_SET)
    let copy = dup(file)
    let descriptor = take(file)
    let reader = try await BodyReader(descriptor, length: nil, patience: .seconds(1))
    #expect(reader.length == 6)
    #expect(await all(of: reader) == Array("456789".utf8))
    #expect(reader.rewind())
    #expect(await all(of: reader) == Array("456789".utf8))
    #expect(lseek(copy, 0, SEEK_CUR) == 4)
    await #expect(throws: DescriptorError.short(read: 6, declared: 7)) {
      try await BodyReader(descriptor, length: 7, patience: .seconds(1))
    }
    close(copy)
  }

  @Test("a pipe of packets is read one packet short of what was taken from it")
  func packets() async throws {
    var ends: [CInt] = [0, 0]
    #expect(Glibc.pipe(&ends) == 0)
    // O_DIRECT on x86; elsewhere it is an ordinary pipe.
    _ = fcntl(ends[1], F_SETFL, 0o40000)
    write(ends[1], "one", 3)
    write(ends[1], "two", 3)
    close(ends[1])
    let reader = try await BodyReader(take(ends[0]), length: nil, patience: .seconds(30))
    #expect(await all(of: reader) == Array("onetwo".utf8))
  }

  @Test("a read that was cancelled keeps a file from being read once more")
  func again() async throws {
    let file = take(memoryFile(Array("0123".utf8)))
    let reader = try await BodyReader(file, length: nil, patience: .seconds(30))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await reader.next()
    }
    _ = await task.value
    #expect(reader.rewind())
    #expect(await all(of: reader) == Array("0123".utf8))
  }

  @Test("descriptors that come in a socket that is read are kept")
  func nested() async throws {
    var pair: [CInt] = [0, 0]
    #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
    let descriptors = PassedDescriptors(limit: 100)
    let reader = try await BodyReader(
      take(pair[0], of: 5, descriptors), length: nil, patience: .seconds(30))
    async let bytes = all(of: reader)
    write(pair[1], "body", 4)
    shutdown(pair[1], CInt(SHUT_WR))
    #expect(await bytes == Array("body".utf8))
    #expect(descriptors.count(of: 5) == 1)
    close(pair[1])
  }
}

import Glibc
import PosternSupport
import PosternTestSupport
import Testing

@testable import PosternRuntime

@Suite("Writing a body to a descriptor", .timeLimit(.minutes(1)))
struct BodyWriterTests {
  /// As the program does.
  init() { signal(SIGPIPE, SIG_IGN) }

  private static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) } }

  @Test("bytes are lost or reordered while the pipe is full, or its flags are changed")
  func fullPipe() async throws {
    let pipe = PassedPipe(passesInput: true)
    let writer = try await BodyWriter(pipe.passed, patience: .seconds(30))
    let body = Self.bytes(500_000)
    async let isWritten = writer.write(body)
    var taken: [UInt8] = []
    while taken.count < body.count { taken += pipe.read(30_000) }
    #expect(await isWritten)
    #expect(taken == body && writer.bytes == 500_000 && writer.failure == nil)
    #expect(fcntl(pipe.passed.number, F_GETFL) & O_NONBLOCK == 0)
    close(pipe.own)
  }

  @Test("a reader that has gone, that sleeps, or that is waited for by a cancelled task, is not noticed")
  func ends() async throws {
    let gone = PassedPipe(passesInput: true)
    close(gone.own)
    let first = try await BodyWriter(gone.passed, patience: .seconds(30))
    #expect(await !first.write([1]))
    #expect(first.failure == .readerGone)

    let sleeper = PassedPipe(passesInput: true)
    let second = try await BodyWriter(sleeper.passed, patience: .milliseconds(10))
    #expect(await !second.write(Self.bytes(200_000)))
    #expect(second.failure == .silent)

    let third = try await BodyWriter(sleeper.passed, patience: .seconds(30))
    let task = Task { await third.write([1]) }
    task.cancel()
    #expect(await !task.value)
    #expect(third.failure == nil)
    close(sleeper.own)
  }

  @Test("a socket or a file is written otherwise than at its position, or a full device passes for written")
  func others() async throws {
    var pair: [CInt] = [0, 0]
    #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
    let socket = try await BodyWriter(take(pair[0]), patience: .seconds(1))
    #expect(await socket.write([1, 2, 3]))
    var received: [UInt8] = [0, 0, 0, 0]
    #expect(recv(pair[1], &received, 4, 0) == 3 && received == [1, 2, 3, 0])
    close(pair[1])

    let file = memoryFile([9, 9, 9])
    lseek(file, 2, SEEK_SET)
    let copy = dup(file)
    let writer = try await BodyWriter(take(file), patience: .seconds(1))
    #expect(await writer.write([1, 2]))
    #expect(pread(copy, &received, 4, 0) == 4 && received == [9, 9, 1, 2])
    close(copy)

    let full = try await BodyWriter(take(open("/dev/full", O_WRONLY)), patience: .seconds(1))
    #expect(await !full.write([1]))
    #expect(full.failure == .failed(errno: ENOSPC))
  }

  @Test("a descriptor is accepted that nothing can be written to")
  func wrong() async {
    await #expect(throws: DescriptorError.self) {
      try await BodyWriter(PassedPipe(passesInput: false).passed, patience: .seconds(1))
    }
    await #expect(throws: DescriptorError.self) {
      try await BodyWriter(take(open("/", O_RDONLY)), patience: .seconds(1))
    }
  }
}

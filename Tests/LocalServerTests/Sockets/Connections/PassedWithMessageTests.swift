import Foundation
import Glibc
import PosternSupport
import Testing

@testable import LocalServer

@Suite("Descriptors that go with a message", .timeLimit(.minutes(1)))
struct PassedWithMessageTests {
  /// The bytes up to the end, and the positions of the reads that brought descriptors.
  private struct Received: Sendable {
    var text = ""
    var reads: [(range: Range<Int>, descriptors: [PassedDescriptor])] = []
  }

  /// Runs `body` on a thread that may wait.
  private func waiting<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { (continuation: CheckedContinuation<Value, Never>) in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }

  private static func readAll(_ socket: CInt, _ passed: PassedDescriptors) -> Received {
    let reader = SocketReader(passed: passed, uid: 1)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
    defer { buffer.deallocate() }
    var bytes: [UInt8] = []
    var received = Received()
    while true {
      var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 20_000) == 1 else { break }
      let outcome = reader.read(socket, into: buffer)
      guard outcome.count > 0 else { break }
      if let descriptors = outcome.descriptors, !descriptors.isEmpty {
        received.reads.append((bytes.count..<bytes.count + outcome.count, descriptors))
      }
      bytes += buffer[..<outcome.count]
    }
    received.text = String(decoding: bytes, as: UTF8.self)
    return received
  }

  private func descriptor(_ passed: PassedDescriptors) throws -> (descriptor: PassedDescriptor, other: CInt) {
    var ends: [CInt] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let taken = [ends[1]].withUnsafeBufferPointer { passed.take($0, of: 1) }
    return (try #require(taken?.first), ends[0])
  }

  private func send(_ text: String, on connection: Connection, _ descriptors: [PassedDescriptor]) {
    Array(text.utf8).withUnsafeBytes { _ = connection.send($0, passing: descriptors) { nil } }
  }

  @Test(
    "a descriptor comes with another message, with a later byte of its own, or not at all",
    arguments: [Framing.stream, .headers], [0, 3 << 20])
  func position(framing: Framing, before: Int) async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send(framing == .stream ? "[0]\n" : "Content-Length: 3\r\n\r\n[0]")
      _ = try await client.bytes(framing == .stream ? 4 : 24)
      let connection = echo.connection()
      let passed = PassedDescriptors(limit: 10)
      var pairs = [try descriptor(passed), try descriptor(passed)]
      let ends = pairs.map(\.other)
      // More than the kernel keeps for a client that reads nothing yet.
      if before > 0 { connection.send([UInt8](repeating: UInt8(ascii: "x"), count: before)) }
      send("[\"with one\"]", on: connection, [pairs[0].descriptor])
      connection.send(Array("[\"plain\"]".utf8))
      send("[\"with another\"]", on: connection, [pairs[1].descriptor])
      connection.closeAfterFlush()
      pairs = []
      let received = PassedDescriptors(limit: 10)
      let socket = client.descriptor
      let all = await waiting { Self.readAll(socket, received) }
      let (text, reads) = (all.text, all.reads)
      #expect(reads.count == 2 && reads.allSatisfy { $0.descriptors.count == 1 })
      let marks =
        framing == .stream ? ["[\"with one\"]", "[\"with another\"]"] : ["Content-Length: 12", "Content-Length: 16"]
      for (mark, read) in zip(marks, reads) {
        let position = try #require(text.range(of: mark)).lowerBound.utf16Offset(in: text)
        #expect(read.range.contains(position), "\(mark)")
      }
      // They are the two ends that were passed, in order, and no other process of ours has them.
      for (read, end) in zip(reads, ends) {
        let byte: [UInt8] = [1]
        #expect(write(read.descriptors[0].number, byte, 1) == 1)
        var got: [UInt8] = [0]
        #expect(Glibc.read(end, &got, 1) == 1)
      }
      for end in ends { Glibc.close(end) }
    }
  }

  // An answer without its descriptor, or bytes of two messages in one.
  @Test(
    "where a descriptor cannot be passed another message goes instead, or the connection closes",
    arguments: [Framing.stream, .headers], [0, 3 << 20])
  func otherwise(framing: Framing, before: Int) async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send(framing == .stream ? "[0]\n" : "Content-Length: 3\r\n\r\n[0]")
      _ = try await client.bytes(framing == .stream ? 4 : 24)
      let connection = echo.connection()
      let passed = PassedDescriptors(limit: 1000)
      if before > 0 { connection.send([UInt8](repeating: UInt8(ascii: "x"), count: before)) }
      // More than can go with one message.
      let numbers = (0...253).map { _ in open("/dev/null", O_RDONLY) }
      let descriptors = try #require(numbers.withUnsafeBufferPointer { passed.take($0, of: 1) })
      let message = Array("[\"with many\"]".utf8)
      message.withUnsafeBytes { _ = connection.send($0, passing: descriptors) { Array("[\"an error\"]".utf8) } }
      connection.send(Array("[\"plain\"]".utf8))
      message.withUnsafeBytes { _ = connection.send($0, passing: descriptors) { nil } }
      connection.send(Array("[\"never\"]".utf8))
      let received = PassedDescriptors(limit: 10)
      let socket = client.descriptor
      let all = await waiting { Self.readAll(socket, received) }
      let texts = ["[\"an error\"]", "[\"plain\"]"]
      let end =
        framing == .stream
        ? texts.map { $0 + "\n" }.joined() : texts.map { "Content-Length: \($0.utf8.count)\r\n\r\n\($0)" }.joined()
      #expect(all.text.hasSuffix(end) && !all.text.contains("many") && all.reads.isEmpty)
    }
  }

  @Test("a descriptor that was never sent is not closed with its connection")
  func closedWithConnection() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[0]\n")
      _ = try await client.line()
      let connection = echo.connection()
      let passed = PassedDescriptors(limit: 10)
      var pairs = [try descriptor(passed)]
      let end = pairs[0].other
      connection.send([UInt8](repeating: UInt8(ascii: "x"), count: 3 << 20))
      send("[1]", on: connection, [pairs[0].descriptor])
      pairs = []
      connection.close()
      // The end of the pipe: this process has no writing end any more.
      let count = await waiting {
        var byte: [UInt8] = [0]
        return read(end, &byte, 1)
      }
      #expect(count == 0)
      Glibc.close(end)
    }
  }
}

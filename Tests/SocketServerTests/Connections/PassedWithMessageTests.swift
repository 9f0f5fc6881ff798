import Foundation
import Glibc
import PosternSupport
import Testing

@testable import SocketServer

@Suite("Descriptors that go with a message", .timeLimit(.minutes(1)))
struct PassedWithMessageTests {
  /// Reads to the end; the bytes, and where the reads began and ended that brought descriptors.
  private func readAll(
    _ socket: CInt, _ passed: PassedDescriptors
  ) -> (text: String, reads: [(range: Range<Int>, descriptors: [PassedDescriptor])]) {
    let reader = SocketReader(passed: passed, uid: 1)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
    defer { buffer.deallocate() }
    var bytes: [UInt8] = []
    var reads: [(range: Range<Int>, descriptors: [PassedDescriptor])] = []
    while true {
      var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, 20_000) == 1 else { break }
      let outcome = reader.read(socket, into: buffer)
      guard outcome.count > 0 else { break }
      if let descriptors = outcome.descriptors, !descriptors.isEmpty {
        reads.append((bytes.count..<bytes.count + outcome.count, descriptors))
      }
      bytes += buffer[..<outcome.count]
    }
    return (String(decoding: bytes, as: UTF8.self), reads)
  }

  private func descriptor(_ passed: PassedDescriptors) throws -> (descriptor: PassedDescriptor, other: CInt) {
    var ends: [CInt] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let taken = [ends[1]].withUnsafeBufferPointer { passed.take($0, of: 1) }
    return (try #require(taken?.first), ends[0])
  }

  private func send(_ text: String, on connection: Connection, _ descriptors: [PassedDescriptor]) {
    Array(text.utf8).withUnsafeBytes { _ = connection.send($0, passing: descriptors) }
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
      var (first, other) = (Optional(try descriptor(passed)), Optional(try descriptor(passed)))
      let ends = try [#require(first).other, #require(other).other]
      // More than the kernel keeps for a client that reads nothing yet.
      if before > 0 { connection.send([UInt8](repeating: UInt8(ascii: "x"), count: before)) }
      send("[\"with one\"]", on: connection, try [#require(first).descriptor])
      connection.send(Array("[\"plain\"]".utf8))
      send("[\"with another\"]", on: connection, try [#require(other).descriptor])
      connection.closeAfterFlush()
      (first, other) = (nil, nil)
      let received = PassedDescriptors(limit: 10)
      let (text, reads) = await withCheckedContinuation { continuation in
        Task.detached { continuation.resume(returning: readAll(client.descriptor, received)) }
      }
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

  @Test("a descriptor that was never sent is not closed with its connection")
  func closedWithConnection() async throws {
    try await EchoServer.run { echo in
      let client = try echo.client()
      try await client.send("[0]\n")
      _ = try await client.line()
      let connection = echo.connection()
      let passed = PassedDescriptors(limit: 10)
      var pair = Optional(try descriptor(passed))
      let end = try #require(pair).other
      connection.send([UInt8](repeating: UInt8(ascii: "x"), count: 3 << 20))
      send("[1]", on: connection, try [#require(pair).descriptor])
      pair = nil
      connection.close()
      // The end of the pipe: this process has no writing end any more.
      var entry = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
      let found = await withCheckedContinuation { continuation in
        Task.detached {
          var entry = entry
          continuation.resume(returning: poll(&entry, 1, 20_000))
        }
      }
      entry.revents = 0
      #expect(found == 1)
      var byte: [UInt8] = [0]
      #expect(read(end, &byte, 1) == 0)
      Glibc.close(end)
    }
  }
}

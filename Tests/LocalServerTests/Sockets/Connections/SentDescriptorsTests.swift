import Glibc
import PosternSupport
import Testing

@testable import LocalServer

/// How many descriptors a uid may leave in sockets that it does not read.
@Suite("Descriptors that were sent", .timeLimit(.minutes(1)))
struct SentDescriptorsTests {
  /// A socket of ours and its peer's.
  private final class Pair: Sendable {
    let own: CInt
    let peer: CInt

    init() {
      var ends: [CInt] = [-1, -1]
      #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
      (own, peer) = (ends[0], ends[1])
    }

    /// Passes so many descriptors; the number of bytes, or the negative error number.
    func pass(_ sent: SentDescriptors, _ count: Int = 1, of uid: UInt32 = 1) -> Int {
      let registry = PassedDescriptors(limit: 1000)
      let numbers = (0..<count).map { _ in open("/dev/null", O_RDONLY) }
      guard let descriptors = numbers.withUnsafeBufferPointer({ registry.take($0, of: uid) }) else { return 0 }
      return [UInt8]("x".utf8).withUnsafeBytes { sent.pass(descriptors, with: $0, of: uid, over: own) }
    }

    /// Reads everything that is there, as the peer.
    func readAll() {
      let reader = SocketReader(passed: PassedDescriptors(limit: 1000), uid: 1)
      var bytes = [UInt8](repeating: 0, count: 100)
      while bytes.withUnsafeMutableBytes({ reader.read(peer, into: $0).count }) > 0 {}
    }
  }

  // A uid that has the kernel's count of descriptors in flight used up, by one connection or by many.
  @Test("a uid has so many on their way, over all its sockets, and more when it reads; other uids have their own")
  func bound() {
    let sent = SentDescriptors()
    let pairs = (0..<SentDescriptors.limit / 4).map { _ in Pair() }
    for pair in pairs { for _ in 0..<4 { #expect(pair.pass(sent) == 1) } }
    #expect(sent.isFull(for: 1) && !sent.isFull(for: 2))
    #expect(pairs[0].pass(sent) == -Int(ETOOMANYREFS))
    let other = Pair()
    #expect(other.pass(sent, of: 2) == 1)
    pairs[0].readAll()
    #expect(!sent.isFull(for: 1))
    for _ in 0..<4 { #expect(pairs[1].pass(sent) == 1) }
    #expect(pairs[1].pass(sent) == -Int(ETOOMANYREFS))
    for pair in pairs { pair.readAll() }
    #expect(other.pass(sent, SentDescriptors.limit + 1) == 1)
    for pair in pairs + [other] { for end in [pair.own, pair.peer] { close(end) } }
  }

  // One that closes its connections, or has them closed, and leaves the descriptors in its own ends of them.
  @Test("those of a connection that is over count until its peer has read them, or has closed too")
  func over() {
    let sent = SentDescriptors()
    let closed = Locked<[CInt]>([])
    let pairs = (0..<SentDescriptors.limit).map { _ in Pair() }
    for pair in pairs {
      #expect(pair.pass(sent) == 1)
      shutdown(pair.own, CInt(SHUT_RDWR))
      sent.close(pair.own, of: 1) {
        close(pair.own)
        closed.withLock { $0.append(pair.own) }
      }
    }
    #expect(sent.isFull(for: 1) && closed.withLock { $0.isEmpty })
    pairs[0].readAll()
    close(pairs[1].peer)
    sent.sweep()
    #expect(Set(closed.withLock { $0 }) == [pairs[0].own, pairs[1].own])
    #expect(!sent.isFull(for: 1))
    // Where nothing is on its way a socket is closed at once.
    let last = Pair()
    sent.close(last.own, of: 1) { closed.withLock { $0.append(last.own) } }
    #expect(closed.withLock { $0.contains(last.own) })
    sent.closeAll()
    #expect(closed.withLock { $0.count } == pairs.count + 1)
    for pair in pairs where pair.peer != pairs[1].peer { close(pair.peer) }
    for end in [last.own, last.peer] { close(end) }
  }

  // A count that goes up with each attempt at a socket that takes nothing.
  @Test("what is not passed does not count")
  func failed() {
    let sent = SentDescriptors()
    let pair = Pair()
    close(pair.peer)
    for _ in 0...SentDescriptors.limit { #expect(pair.pass(sent) == -Int(EPIPE)) }
    #expect(!sent.isFull(for: 1))
    close(pair.own)
  }
}

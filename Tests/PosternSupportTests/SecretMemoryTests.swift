import Foundation
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Memory for secrets: apart, locked, overwritten", .serialized)
struct SecretMemoryTests {
  private static func bytes(_ count: Int, _ value: UInt8 = 0x5A) -> SecretBytes {
    [UInt8](repeating: value, count: count).withUnsafeBytes(SecretBytes.init(copying:))
  }

  private static func address(of bytes: SecretBytes) -> UInt {
    bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
  }

  private static var total: Int { SecretMemory.usage.lockedBytes + SecretMemory.usage.unlockedBytes }

  @Test("a secret comes back changed", arguments: [0, 1, 15, 16, 31, 32, 33, 1000, 32 << 10, 32 << 10 + 1, 100_000])
  func roundTrip(count: Int) {
    let given = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    #expect(Secret(given).reveal() == given)
    let text = String(repeating: "ä🔑x", count: count / 7)
    #expect(Secret(text).reveal() == text)
  }

  @Test("what a secret was can still be read when it is gone")
  func overwritten() {
    // Keeps the pages mapped.
    let neighbour = Self.bytes(10)
    var secret: SecretBytes? = Self.bytes(200)
    let index = secret.map(Self.address)
    secret = nil
    guard let pointer = UnsafePointer<UInt8>(bitPattern: index ?? 0) else { return }
    #expect(UnsafeBufferPointer(start: pointer, count: 200).allSatisfy { $0 == 0 })
    #expect(neighbour.withUnsafeBytes { $0.allSatisfy { $0 == 0x5A } })
  }

  @Test("a secret that was moved is still where it was before")
  func moved() {
    var given = Array("hunter2".utf8)
    let secret = Secret(moving: &given)
    #expect(given == [UInt8](repeating: 0, count: 7))
    #expect(secret.reveal() == Array("hunter2".utf8))
  }

  @Test("each small secret costs a page, or pages are not given back")
  func overhead() {
    let before = Self.total
    var secrets = (0..<10_000).map { _ in Self.bytes(24) }
    #expect(Self.total - before <= 10_000 * 32 + 64 << 10)
    // Holes are filled again.
    secrets.removeAll { Self.address(of: $0) % 64 == 0 }
    let full = Self.total
    secrets += (0..<4000).map { _ in Self.bytes(24) }
    #expect(Self.total == full)
    secrets = []
    // A block stays for the next one.
    #expect(Self.total - before <= 64 << 10)
    let large = Self.bytes(1 << 20)
    #expect(Self.total - before >= 1 << 20)
    withExtendedLifetime(large) {}
  }

  @Test("secrets are in memory that is swapped out, dumped or left to a forked process")
  func flags() throws {
    let secret = Self.bytes(100)
    let address = Self.address(of: secret)
    var found: [Substring] = []
    var isInside = false
    let file = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
    for line in String(decoding: file.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n") {
      if let range = line.wholeMatch(of: /([0-9a-f]+)-([0-9a-f]+) .*/),
        let start = UInt(range.1, radix: 16), let end = UInt(range.2, radix: 16)
      {
        isInside = (start..<end).contains(address)
      } else if isInside, line.hasPrefix("VmFlags:") {
        found = line.split(separator: " ")
      }
    }
    #expect(found.contains("dd") && found.contains("wf"))
    if SecretMemory.usage.unlockedBytes == 0, !Sanitizer.isOn { #expect(found.contains("lo")) }
    withExtendedLifetime(secret) {}
  }

  @Test("two threads get the same memory")
  func threads() async {
    await withTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<500 {
            let value = UInt8(truncatingIfNeeded: task * 31 + round)
            let mine = (1...5).map { Self.bytes($0 * 97, value) }
            let isMine = mine.allSatisfy { $0.withUnsafeBytes { $0.allSatisfy { $0 == value } } }
            if !isMine { Issue.record("another secret's bytes") }
          }
        }
      }
    }
  }

  @Test("equal secrets differ, or different ones are equal")
  func equality() {
    #expect(Secret("a") == Secret("a") && Secret("") == Secret(""))
    #expect(Secret("a") != Secret("b") && Secret("a") != Secret("aa"))
    #expect(Set([Secret("a"), Secret("a"), Secret("b")]).count == 2)
  }
}

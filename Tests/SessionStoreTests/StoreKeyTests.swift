import Foundation
import PosternCrypto
import SessionRecords
import Testing

@testable import SessionStore

@Suite("Key files")
struct StoreKeyTests {
  private static let bytes = (0..<32).map { UInt8($0 * 7 + 1) }
  private static let hexadecimal = bytes.map { String(format: "%02x", $0) }.joined()
  private static let base64 = Data(bytes).base64EncodedString()

  @Test(
    "a key file in one of the three forms is not read",
    arguments: [
      bytes, Array(hexadecimal.utf8), Array((hexadecimal.uppercased() + "\n").utf8), Array(base64.utf8),
      Array("  \(base64)\r\n".utf8),
    ])
  func forms(_ contents: [UInt8]) throws {
    #expect(try StoreKey(contents: contents).material.reveal() == Self.bytes)
  }

  @Test(
    "something that is no key is taken for one",
    arguments: [
      [], Array("\n".utf8), [UInt8](repeating: 0, count: 32), bytes + [0], Array(bytes.dropLast()),
      Array(hexadecimal.utf8.dropLast()), Array((hexadecimal.dropLast() + "g").utf8), Array("00\(hexadecimal)".utf8),
      Array(base64.utf8.dropLast()), Array("not a key".utf8), [UInt8](repeating: 65, count: 1 << 16),
    ])
  func rejected(_ contents: [UInt8]) async {
    await expect(.unusable) { _ = try StoreKey(contents: contents) }
  }

  @Test("a key shows in a description")
  func description() throws {
    let key = try StoreKey(contents: Self.bytes)
    #expect("\(key)" == "<secret>")
    var dumped = ""
    dump(key, to: &dumped)
    #expect(!dumped.contains("15, 22"))
  }
}

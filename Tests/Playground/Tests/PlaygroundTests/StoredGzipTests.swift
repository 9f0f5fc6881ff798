import Testing

@testable import Playground

@Suite struct StoredGzipTests {
  @Test("The stored form is the one RFC 1951 section 3.2.4 and RFC 1952 describe, byte for byte")
  func vector() {
    let expected: [UInt8] =
      [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 5, 0, 0xfa, 0xff] + Array("hello".utf8)
      + [0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0]
    #expect(StoredGzip.encode(Array("hello".utf8)) == expected)
  }

  @Test(
    "Longer data is split into blocks, only the last of which is marked as such",
    arguments: [0, 0xffff, 0x10000, 200_000])
  func blocks(size: Int) {
    let member = StoredGzip.encode([UInt8](repeating: 1, count: size))
    var position = 10
    var total = 0
    var isLast = false
    while !isLast {
      isLast = member[position] == 1
      let length = Int(member[position + 1]) | Int(member[position + 2]) << 8
      #expect(member[position + 3] == ~member[position + 1])
      total += length
      position += 5 + length
    }
    #expect(total == size)
    #expect(position + 8 == member.count)
  }
}

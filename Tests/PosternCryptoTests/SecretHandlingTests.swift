import PosternCrypto
import Testing

@Suite("Secrets")
struct SecretHandlingTests {
  @Test("A symmetric key is never printed, dumped or reflected")
  func discretion() {
    let key = SymmetricKey(Array("opensesame".utf8))
    var text = "\(key) \(String(reflecting: key)) \([key]) "
    dump(key, to: &text)
    #expect(!text.contains("opensesame") && !text.contains("111"))
    #expect(key.description == "<secret>" && key.debugDescription == "<secret>")
  }

  @Test("Copies and slices of a key hold its bytes; keys are equal by bytes")
  func bytes() {
    let key = SymmetricKey([1, 2, 3, 4])
    #expect(key.byteCount == 4 && key.reveal() == [1, 2, 3, 4])
    #expect(key.slice(1..<3) == SymmetricKey([2, 3]))
    #expect(key.slice(0..<0).byteCount == 0)
    #expect(key != SymmetricKey([1, 2, 3]) && key != SymmetricKey([1, 2, 3, 5]))
  }

  @Test("Comparison in constant time compares: equal, unequal at either end, other lengths, nothing")
  func constantTime() {
    #expect(ConstantTime.equals([1, 2, 3], [1, 2, 3]))
    #expect(!ConstantTime.equals([1, 2, 3], [0, 2, 3]))
    #expect(!ConstantTime.equals([1, 2, 3], [1, 2, 2]))
    #expect(!ConstantTime.equals([1, 2, 3], [1, 2]))
    #expect(!ConstantTime.equals([], [0]))
    #expect(ConstantTime.equals([], [UInt8]()))
  }

  @Test("Random bytes have the requested count and are not the same twice")
  func random() {
    #expect(SecureRandom.bytes(0).isEmpty)
    #expect(SecureRandom.bytes(33).count == 33)
    #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
    #expect(SymmetricKey.random(byteCount: 16).byteCount == 16)
  }
}

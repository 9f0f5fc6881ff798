import PosternCrypto
import Testing

@Suite("AES")
struct AESTests {
  static let failure = CryptoError(code: .authenticationFailed, message: "")

  @Test("Test case 4 of the GCM specification comes out")
  func publishedGCM() throws {
    let key = SymmetricKey(hex("feffe9928665731c6d6a8f9467308308"))
    let plaintext = hex(
      """
      d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
      1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
      """)
    let data = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    let sealed = try AESGCM.seal(
      plaintext.span.bytes, key: key, nonce: hex("cafebabefacedbaddecaf888"), authenticating: data.span.bytes)
    #expect(
      sealed.ciphertext
        == hex(
          """
          42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
          21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091
          """))
    #expect(sealed.tag == hex("5bc94fbc3221a5db94fae95ae7121a47"))
  }

  @Test("The three examples of RFC 7518 appendix B come out, in both directions")
  func publishedCBC() throws {
    let plaintext = Array(
      "A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy without inconvenience"
        .utf8)
    let data = Array("The second principle of Auguste Kerckhoffs".utf8)
    let iv = hex("1af38c2dc2b96ffdd86694092341bc04")
    let examples: [(AESCBCHMAC, first: String, tag: String)] = [
      (.sha256, "c80edfa32ddf39d5ef00c0b468834279", "652c3fa36b0a7c5b3219fab3a30bc1c4"),
      (.sha384, "ea65da6b59e61edb419be62d19712ae5", "8490ac0e58949bfe51875d733f93ac2075168039ccc733d7"),
      (
        .sha512, "4affaaadb78c31c5da4b1b590d10ffbd",
        "4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5"
      ),
    ]
    for (cipher, first, tag) in examples {
      let key = SymmetricKey((0..<cipher.keyByteCount).map { UInt8($0) })
      let sealed = try cipher.seal(plaintext.span.bytes, key: key, iv: iv, authenticating: data.span.bytes)
      #expect(Array(sealed.ciphertext.prefix(16)) == hex(first))
      #expect(sealed.tag == hex(tag))
      #expect(try cipher.open(sealed, key: key, iv: iv, authenticating: data.span.bytes) == plaintext)
    }
  }

  @Test("The examples of RFC 3394 sections 4.1, 4.3 and 4.6 come out, in both directions")
  func publishedKeyWrap() throws {
    let examples = [
      (16, "00112233445566778899aabbccddeeff", "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5"),
      (24, "00112233445566778899aabbccddeeff", "96778b25ae6ca435f92b5b97c050aed2468ab8a17ad84e5d"),
      (
        32, "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f",
        "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
      ),
    ]
    for (count, plain, wrapped) in examples {
      let wrappingKey = SymmetricKey((0..<count).map { UInt8($0) })
      #expect(try AESKeyWrap.wrap(SymmetricKey(hex(plain)), with: wrappingKey) == hex(wrapped))
      #expect(try AESKeyWrap.unwrap(hex(wrapped), with: wrappingKey) == SymmetricKey(hex(plain)))
    }
  }

  @Test("GCM rejects every changed bit, other lengths of nonce and tag, and other data")
  func tamperedGCM() throws {
    let key = SymmetricKey.random(byteCount: 32)
    let nonce = SecureRandom.bytes(12)
    let (plaintext, data, none): ([UInt8], [UInt8], [UInt8]) = ([1, 2, 3, 4], [5], [])
    let sealed = try AESGCM.seal(plaintext.span.bytes, key: key, nonce: nonce, authenticating: data.span.bytes)
    #expect(try AESGCM.open(sealed, key: key, nonce: nonce, authenticating: data.span.bytes) == plaintext)
    for bit in 0..<(8 * (sealed.ciphertext.count + 16)) {
      var changed = sealed
      if bit / 8 < sealed.ciphertext.count {
        changed.ciphertext[bit / 8] ^= 1 << UInt8(bit % 8)
      } else {
        changed.tag[bit / 8 - sealed.ciphertext.count] ^= 1 << UInt8(bit % 8)
      }
      #expect(throws: Self.failure) {
        try AESGCM.open(changed, key: key, nonce: nonce, authenticating: data.span.bytes)
      }
    }
    #expect(throws: Self.failure) { try AESGCM.open(sealed, key: key, nonce: nonce, authenticating: none.span.bytes) }
    for count in [0, 1, 4, 8, 12, 15] {
      let short = SealedMessage(ciphertext: sealed.ciphertext, tag: Array(sealed.tag[..<count]))
      #expect(throws: Self.failure) {
        try AESGCM.open(short, key: key, nonce: nonce, authenticating: data.span.bytes)
      }
    }
    for count in [0, 11, 13, 16] {
      #expect(throws: CryptoError(code: .invalidInput, message: "")) {
        try AESGCM.seal(
          plaintext.span.bytes, key: key, nonce: SecureRandom.bytes(count), authenticating: none.span.bytes)
      }
    }
  }

  @Test("CBC with HMAC rejects every changed bit before it decrypts, and other lengths of vector, tag and key")
  func tamperedCBC() throws {
    let cipher = AESCBCHMAC.sha256
    let key = SymmetricKey.random(byteCount: 32)
    let iv = SecureRandom.bytes(16)
    let (plaintext, data): ([UInt8], [UInt8]) = ([1, 2, 3, 4], [5])
    let sealed = try cipher.seal(plaintext.span.bytes, key: key, iv: iv, authenticating: data.span.bytes)
    for bit in 0..<(8 * 32) {
      var changed = sealed
      if bit < 128 {
        changed.ciphertext[bit / 8] ^= 1 << UInt8(bit % 8)
      } else {
        changed.tag[bit / 8 - 16] ^= 1 << UInt8(bit % 8)
      }
      #expect(throws: Self.failure) { try cipher.open(changed, key: key, iv: iv, authenticating: data.span.bytes) }
    }
    for tag in [[], Array(sealed.tag.dropLast()), sealed.tag + [0]] {
      let changed = SealedMessage(ciphertext: sealed.ciphertext, tag: tag)
      #expect(throws: Self.failure) { try cipher.open(changed, key: key, iv: iv, authenticating: data.span.bytes) }
    }
    for count in [0, 15, 17] {
      #expect(throws: CryptoError.self) {
        try cipher.seal(plaintext.span.bytes, key: key, iv: SecureRandom.bytes(count), authenticating: data.span.bytes)
      }
    }
    for count in [0, 16, 31, 48] {
      #expect(throws: CryptoError(code: .invalidKey, message: "")) {
        try cipher.open(sealed, key: .random(byteCount: count), iv: iv, authenticating: data.span.bytes)
      }
    }
  }

  @Test("Key wrap rejects changed, short, odd and foreign input, and keys of no AES length")
  func tamperedKeyWrap() throws {
    let wrappingKey = SymmetricKey.random(byteCount: 16)
    let wrapped = try AESKeyWrap.wrap(.random(byteCount: 32), with: wrappingKey)
    for position in wrapped.indices {
      var changed = wrapped
      changed[position] ^= 1
      #expect(throws: Self.failure) { try AESKeyWrap.unwrap(changed, with: wrappingKey) }
    }
    for count in 0..<48 where count != wrapped.count {
      #expect(throws: Self.failure) {
        try AESKeyWrap.unwrap([UInt8](repeating: 1, count: count), with: wrappingKey)
      }
    }
    #expect(throws: Self.failure) { try AESKeyWrap.unwrap(wrapped, with: .random(byteCount: 16)) }
    for count in [0, 8, 15, 17] {
      #expect(throws: CryptoError(code: .invalidInput, message: "")) {
        try AESKeyWrap.wrap(.random(byteCount: count), with: wrappingKey)
      }
    }
    for count in [0, 8, 17, 33] {
      #expect(throws: CryptoError(code: .invalidKey, message: "")) {
        try AESKeyWrap.wrap(.random(byteCount: 16), with: .random(byteCount: count))
      }
    }
  }
}

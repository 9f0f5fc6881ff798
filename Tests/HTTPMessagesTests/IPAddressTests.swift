import HTTPMessages
import Testing

/// Which addresses lead to what only the machine itself should ask.
@Suite struct IPAddressTests {
  static let hosts: [(String, Bool)] = [
    ("169.254.169.254", true), ("169.254.0.0", true), ("169.254.255.255", true), ("169.253.255.255", false),
    ("169.255.0.0", false), ("127.0.0.1", false), ("10.0.0.1", false), ("0.0.0.0", false), ("254.169.254.169", false),
    ("100.100.100.200", true), ("100.100.100.201", false), ("192.0.0.192", true), ("192.0.0.193", false),
    ("168.63.129.16", true), ("168.63.129.17", false), ("[::ffff:168.63.129.16]", true), ("[2002:a83f:8110::1]", true),
    ("[::ffff:100.100.100.200]", true), ("[64:ff9b::192.0.0.192]", true),
    ("[fe80::1]", true), ("[febf:ffff::1]", true), ("[fec0::1]", false), ("[fe7f::1]", false), ("[fc00::1]", false),
    ("[fd00:ec2::254]", true), ("[fd00:ec2::253]", false), ("[fd00:ec2:0:1::254]", false), ("[fd20:ce::254]", true),
    ("[::ffff:169.254.169.254]", true), ("[::ffff:a9fe:a9fe]", true), ("[::ffff:8.8.8.8]", false),
    ("[::169.254.169.254]", true), ("[::1]", false), ("[::]", false), ("[::1:169.254.169.254]", false),
    ("[64:ff9b::169.254.169.254]", true), ("[64:ff9b::a00:1]", false), ("[64:ff9b:1::a9fe:a9fe]", true),
    ("[2002:a9fe:a9fe::1]", true), ("[2002:808:808::a9fe:a9fe]", false), ("[2001:db8::a9fe:a9fe]", false),
    ("metadata.internal", false), ("169.254.169.254.example", false), ("fe80--1.example", false),
  ]

  @Test(
    "link-local and metadata addresses are recognized in every form, other addresses and names are not",
    arguments: hosts)
  func literal(row: (String, Bool)) throws {
    #expect(try HTTPURL("https://\(row.0)/").origin.isLinkLocalAddress == row.1)
  }

  @Test("an address has 4 or 16 bytes", arguments: [0, 1, 3, 5, 15, 17])
  func sizes(count: Int) {
    #expect(IPAddress(bytes: [UInt8](repeating: 1, count: count)) == nil)
  }
}

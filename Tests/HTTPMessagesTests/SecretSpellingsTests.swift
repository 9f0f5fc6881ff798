import HTTPMessages
import Testing

@Suite("A secret is found in whatever spelling a server returns it")
struct SecretSpellingsTests {
  private static let secret = #"s3cr+t/&=#%"A b"#

  static let texts: [(String, String)] = [
    ("key=\(secret)", "key=***"), (secret, "***"), ("\(secret)\(secret)", "******"),
    // Percent-encoded, in any case, as a whole or as far as an encoder thinks necessary; and form-encoded.
    ("?key=s3cr%2Bt%2F%26%3D%23%25%22A%20b&n=1", "?key=***&n=1"),
    ("?key=s3cr%2bt%2f%26%3d%23%25%22A%20b&n=1", "?key=***&n=1"),
    ("?key=s3cr%2Bt/%26=%23%25%22A+b", "?key=***"), ("%73%33%63%72%2B%74/&=#%25%22A+b.", "***."),
    ("S3CR%2BT/&=#%25%22a%20B", "***"),
    // Within a URL that is a parameter of another one, and once more.
    (
      "/login?next=%2Fx%3Fkey%3Ds3cr%252Bt%252F%2526%253D%2523%2525%2522A%2520b%26n%3D1",
      "/login?next=%2Fx%3Fkey%3D***%26n%3D1"
    ),
    (
      "/a?b=%2Fc%3Fd%3D%252Fx%253Fkey%253Ds3cr%25252Bt%25252F%252526%25253D%252523%252525%252522A%252520b",
      "/a?b=%2Fc%3Fd%3D%252Fx%253Fkey%253D***"
    ),
    // In a quoted string, and in JSON.
    (#"Bearer realm="key=s3cr+t/&=#%\"A b""#, #"Bearer realm="key=***""#),
    (#"{"seen":"s3cr+t\/&=#%\"A b"}"#, #"{"seen":"***"}"#),
  ]

  @Test("a spelling is not masked, or more than it is", arguments: texts)
  func masked(text: String, expected: String) {
    let spellings = SecretSpellings([Self.secret])
    #expect(spellings.masked(text, with: "***") == expected)
    #expect(spellings.occur(in: text))
  }

  static let others = [
    "", "s3cr", "key=s3cr+t/&=#%", "s3cr%2Bt%2F%26%3D%23", "%", "%2", "%zz", #"\"#, "s4cr+t/&=#%\"A b", "***",
  ]

  @Test("another text is taken for the secret", arguments: others)
  func other(text: String) {
    let spellings = SecretSpellings([Self.secret])
    #expect(spellings.masked(text, with: "***") == nil && !spellings.occur(in: text))
  }

  @Test("a secret is readable in base64, by itself or within something longer")
  func base64() {
    let spellings = SecretSpellings(["open sesame and more"])
    for text in [
      "b3BlbiBzZXNhbWUgYW5kIG1vcmU=", "dXNlcjpvcGVuIHNlc2FtZSBhbmQgbW9yZQ", "eDpvcGVuIHNlc2FtZSBhbmQgbW9yZTp5",
    ] {
      let masked = spellings.masked("state=\(text)", with: "***")
      // Nothing is left of it but characters that have bits of its neighbours.
      #expect(masked?.hasPrefix("state=") == true && (masked?.count ?? .max) < 20, "\(masked ?? "")")
    }
  }

  @Test("a short value is found by chance, or not where it is its parameter's")
  func ofParameter() {
    let spellings = SecretSpellings(ofParameter: "key", value: "a1")
    for (text, expected) in [
      ("/x?key=a1", "/x?key=***"), ("/x?KEY=a1&b=a1", "/x?KEY=***&b=a1"),
      ("?u=%2Fx%3Fkey%3Da1%26b", "?u=%2Fx%3Fkey%3D***%26b"),
      ("/x?b=1#key=a1", "/x?b=1#key=***"), ("\"key=a1\"", "\"key=***\""), ("key=%611", "key=***"),
    ] { #expect(spellings.masked(text, with: "***") == expected, "\(text)") }
    for text in ["a1", "/x?monkey=a1", "key=a12", "key=a1%62", "key=a", "my-key=a1"] {
      #expect(spellings.masked(text, with: "***") == nil, "\(text)")
    }
  }

  @Test("time grows with the square of the text, or of the number of its encodings")
  func cost() {
    let spellings = SecretSpellings([String(repeating: "a", count: 4000) + "b"])
    let clock = ContinuousClock()
    let texts = [
      String(repeating: "a", count: 60_000), "%" + String(repeating: "25", count: 30_000),
      String(repeating: "%61", count: 20_000),
    ]
    for text in texts {
      let time = clock.measure { #expect(spellings.masked(text, with: "***") == nil) }
      #expect(time < .seconds(20), "\(time)")
    }
  }
}

import HTTPMessages
import Testing

@Suite("A reserved cookie is recognised in every spelling in which a server may read it")
struct ReservedCookiesTests {
  private let reserved = ReservedCookies(["amSession", "sso.id"])

  static let rows: [(field: String, left: String?)] = [
    ("amSession=2", nil), ("AMSESSION=2; a=1", "a=1"), ("a=1;amSession=2;b=3", "a=1; b=3"), ("amSession", nil),
    // Without a name: what follows is one to some.
    ("a=1; =amSession=2", "a=1"), ("==amSession=2", nil), ("= amSession=2", nil), ("=amSession", nil),
    // White space and control characters around it, and between name and value.
    ("a=1; \t amSession=2", "a=1"), ("amSession =2", nil), ("amSession = 2", nil),
    ("a=1;\u{1}amSession\u{7F}=2", "a=1"),
    ("\u{A0}amSession\u{3000}=2", nil), ("\u{FEFF}amSession=2", nil), ("amSession\u{85}=2", nil),
    // Quoted, and as an attribute of RFC 2965.
    ("\"amSession\"=2", nil), ("'amSession'=2", nil), ("\"amSession=2\"", nil), ("$amSession=2", nil),
    ("$Version=1; $amSession=2", "$Version=1"), ("$\"amSession\"=2", nil),
    // Encoded, wholly or in part, once or more often.
    ("am%53ession=2", nil), ("%61%6D%73%65%73%73%69%6f%6e=2", nil), ("am%2553ession=2", nil), ("%20amSession=2", nil),
    ("+amSession=2", nil), ("%22amSession%22=2", nil), ("amSession%3D2", nil), ("amSession%00x=2", nil),
    // As an array, and as another spelling of one variable.
    ("amSession[]=2", nil), ("amSession[a]=2", nil), ("amSession%5B0%5D=2", nil), ("sso_id=1", nil), ("SSO-ID=1", nil),
    // Separated otherwise: by commas or white space.
    ("a=1,amSession=2", nil), ("a=1, amSession=2; b=1", "b=1"), ("a=1 amSession=2", nil), ("a=1\tamSession = 2", nil),
    ("a=\"x; amSession=2\"", "a=\"x"), ("a=x\u{E9}amSession=2", nil),
  ]

  @Test("a spelling passes, or other cookies are lost with it", arguments: rows)
  func spelling(row: (field: String, left: String?)) {
    #expect(row.field.split(separator: ";").contains(where: reserved.occur))
    #expect(reserved.removed(from: row.field) == row.left)
  }

  static let others = [
    "a=amSession", "a=1; b=amSession", "a= amSession", "a=see amSession here", "amSessions=2", "myamSession=2",
    "my-amSession=2", "_amSession=2", "am=Session", "amSession2=1", "a=x%3BamSession%3D2", "ssoid=1", "a=b=c", "", "=",
    ";", "a", "%", "am%5Session=1", "a=\u{E9}",
  ]

  @Test("another cookie is taken for it, or changed", arguments: others)
  func other(field: String) {
    #expect(!field.split(separator: ";").contains(where: reserved.occur))
    #expect(reserved.removed(from: field) == (field.isEmpty ? nil : field))
  }

  @Test("without reserved names a cookie is one")
  func none() {
    #expect(!ReservedCookies([]).occur(in: "a=1") && !ReservedCookies([]).occur(in: "=x"))
    #expect(ReservedCookies([]).removed(from: " =x ;; y") == " =x ;; y")
  }

  @Test("time grows with the square of the field")
  func cost() {
    let time = ContinuousClock().measure {
      for unit in ["=", "a ", "a,", "%25", "am%53ession", "= "] {
        _ = reserved.removed(from: String(repeating: unit, count: 60_000 / unit.utf8.count))
      }
    }
    #expect(time < .seconds(20), "\(time)")
  }
}

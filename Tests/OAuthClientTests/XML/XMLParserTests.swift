import Testing

@testable import OAuthClient

/// The parser's rules and limits, and a round trip of escaped text.
@Suite("XML")
struct XMLParserTests {
  private static func parse(_ text: String) throws -> XMLElement { try XMLParser().parse(Array(text.utf8)) }

  @Test("Elements, attributes and text are kept in order, references resolved")
  func tree() throws {
    let root = try Self.parse(
      "<?xml version='1.0'?><a x='1' y=\"&lt;2\"><b>t&amp;<![CDATA[<u>]]></b><!-- no --><c/><b/></a>\n")
    #expect(root.name == "a" && root["x"] == "1" && root["y"] == "<2" && root["z"] == nil)
    #expect(root.children.map(\.name) == ["b", "c", "b"])
    #expect(root.children("b").map(\.text) == ["t&<u>", ""])
  }

  @Test(
    "A document type is rejected before its declarations take effect",
    arguments: [
      "<!DOCTYPE a><a/>", "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
      "<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>",
      "<!DOCTYPE a [<!ENTITY % p SYSTEM 'http://127.0.0.1/x'> %p;]><a/>",
    ])
  func documentTypes(_ text: String) {
    #expect { try Self.parse(text) } throws: { ($0 as? XMLParseError)?.kind == .documentType }
  }

  @Test(
    "A text that is not well-formed XML in UTF-8 is rejected",
    arguments: [
      "", " ", "x", "<a>", "<a></b>", "<a/><b/>", "<a x='1' x='2'/>", "<a>&nbsp;</a>", "<a>\u{1}</a>", "<a>&#0;</a>",
      "<a b=<c>/>", "a<b/>", "<a/>b",
    ])
  func malformed(_ text: String) {
    #expect { try Self.parse(text) } throws: { ($0 as? XMLParseError)?.kind == .notWellFormed }
  }

  @Test("Bytes that are no UTF-8 are rejected, whatever encoding the document claims")
  func encodings() {
    for bytes in [Array("<a>".utf8) + [0xFF] + Array("</a>".utf8), [0xFF, 0xFE, 0x3C, 0x00, 0x61, 0x00]] {
      #expect { try XMLParser().parse(bytes) } throws: { ($0 as? XMLParseError)?.kind == .notWellFormed }
    }
    let claimed = Array("<?xml version='1.0' encoding='ISO-8859-1'?><a>\u{E9}</a>".utf8)
    #expect((try? XMLParser().parse(claimed))?.text == "\u{E9}")
  }

  @Test("Size, depth and number of nodes are bounded, each to the last that is allowed")
  func limits() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
    }
    func kind(_ text: String) -> XMLParseError.Kind? {
      do throws(XMLParseError) {
        _ = try XMLParser(maxBytes: 1000, maxDepth: 4, maxNodes: 10).parse(Array(text.utf8))
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(kind(nested(4)) == nil && kind(nested(5)) == .tooDeep)
    #expect(kind("<a>\(String(repeating: "<b/>", count: 9))</a>") == nil)
    #expect(kind("<a>\(String(repeating: "<b/>", count: 10))</a>") == .tooMany)
    #expect(kind("<a b='' c='' d='' e='' f='' g='' h='' i='' j=''/>") == nil)
    #expect(kind("<a b='' c='' d='' e='' f='' g='' h='' i='' j='' k=''/>") == .tooMany)
    #expect(kind("<a>\(String(repeating: "x", count: 993))</a>") == nil)
    #expect(kind("<a>\(String(repeating: "x", count: 994))</a>") == .tooLarge)
  }

  @Test("What is escaped is read again as it was, in text and in attributes of either quotes")
  func escaping() throws {
    let text = "a<b>&\"c'd\te\nf\rg ]]> é\u{1F511}"
    let escaped = try #require(XMLEscaping.escape(text))
    let root = try Self.parse("<a x=\"\(escaped)\" y='\(escaped)'>\(escaped)</a>")
    #expect(root["x"] == text && root["y"] == text && root.text == text)
    for unwritable in ["\u{0}", "\u{1F}", "\u{FFFE}"] { #expect(XMLEscaping.escape(unwritable) == nil) }
  }
}

import AuthEngine
import HTTPMessages
import PosternSupport
import Testing

/// Advice in the target of a redirect, in every spelling that servers have, and what only looks like it.
@Suite("Advice in redirects", .bothWays)
struct AdviceRedirectTests {
  private typealias V = AdviceVectors

  private static let encodings: [(String, String)] = {
    let spaced =
      "\n<Advices>\n <AttributeValuePair>\r\n\t<Attribute  name = '\(V.transaction)' ></Attribute>\n <Value> \(V.txId)\n</Value></AttributeValuePair></Advices> "
    let standard = Base64.string(Array(V.xml.utf8))
    return [
      ("percent-encoded", V.escaped(V.xml)),
      ("plus for space", FormEncoding.encode(V.xml)),
      ("hardly encoded", V.xml.split(separator: " ").joined(separator: "%20")),
      ("twice", V.escaped(V.escaped(V.xml))),
      ("plus, then twice", V.escaped(FormEncoding.encode(V.xml))),
      ("three times", V.escaped(V.escaped(V.escaped(V.xml)))),
      ("white space and other quotes", V.escaped(spaced)),
      ("in quotes", "%22\(V.escaped(V.xml))%22"),
      ("in single quotes and spaces", "+'\(V.escaped(V.xml))'+"),
      ("declaration and comment", V.escaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- a -->" + V.xml)),
      ("base64url", Base64URL.string(Array(V.xml.utf8))),
      ("base64url, padded", Base64URL.string(Array(V.xml.utf8)) + "%3D%3D"),
      ("base64", V.escaped(standard)),
      ("base64, nothing encoded", standard),
      ("base64, twice", V.escaped(V.escaped(standard))),
      ("base64 in lines", V.escaped(standard.prefix(76) + "\r\n" + standard.dropFirst(76))),
    ]
  }()

  @Test("A spelling of composite advice is not understood", arguments: encodings, [301, 302, 303, 307, 308])
  func spellings(_ encoding: (String, String), status: Int) throws {
    for scope in [AdviceRecognizer.Scope.denials, .everyAnswer] {
      let found = AdviceRecognizer(scope: scope).finding(in: V.redirect(V.location(encoding.1), status: status))
      let finding = try #require(found, "\(encoding.0)")
      #expect(finding.source == .redirect && finding.advices.count == 1)
      let advice = finding.advices[0]
      #expect(advice.type == V.transaction && advice.value == V.txId && advice.txId == V.txId && advice.realm == "/")
      #expect(CompositeAdvice.xml([advice]) == V.xml)
    }
  }

  @Test("A `+` of base64 at the end of the value is taken for white space")
  func trailingPlus() {
    for padding in ["", "x", "xy"] {
      let xml = V.document([("AuthLevelConditionAdvice", "5" + padding)])
      let location = V.location(Base64.string(Array(xml.utf8)))
      #expect(AdviceRecognizer().finding(in: V.redirect(location))?.advices.first?.value == "5" + padding)
    }
  }

  @Test("Only one of several advices counts, or one counts twice")
  func several() {
    let xml = V.document([
      (V.service, "/sdk:Confirm"), (V.transaction, V.txId), (V.service, "/sdk:Confirm"),
      ("CustomAdvice", "x &amp; &lt;y>"),
    ])
    let many = xml.replacing("<Value>/sdk:Confirm</Value>", with: "<Value>a</Value><Value>b</Value>")
    #expect(
      AdviceRecognizer().finding(in: V.redirect(V.location(V.escaped(xml))))?.advices.map(\.value) == [
        "/sdk:Confirm", V.txId, "x & <y>",
      ])
    #expect(
      AdviceRecognizer().finding(in: V.redirect(V.location(V.escaped(many))))?.advices.map(\.value).prefix(3) == [
        "a", "b", V.txId,
      ])
  }

  @Test(
    "What is no advice, or an attack on its parser, is taken for one",
    arguments: [
      "", "x", "%", "%3C", "%3CAdvices%3E", "%zz", "%22", "%22%22", "''", "%3CAdvices/%3E",
      AdviceVectors.escaped(
        "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><Advices><AttributeValuePair><Attribute name='A'/><Value>&e;</Value></AttributeValuePair></Advices>"
      ),
      AdviceVectors.escaped("<!DOCTYPE Advices>" + AdviceVectors.xml),
      AdviceVectors.escaped("<x>\(AdviceVectors.xml)</x>"),
      AdviceVectors.escaped(AdviceVectors.document([("", "x")])),
      AdviceVectors.escaped(AdviceVectors.document([("A", "")])),
      AdviceVectors.escaped(AdviceVectors.document([("A", " \n ")])),
      AdviceVectors.escaped(AdviceVectors.document([("A", String(repeating: "x", count: 4097))])),
      AdviceVectors.escaped(AdviceVectors.document([("A", "x")]).replacing("Attribute name", with: "Attribute Name")),
      AdviceVectors.escaped(AdviceVectors.xml + AdviceVectors.xml),
      AdviceVectors.escaped(String(repeating: "<a>", count: 10_000)),
      AdviceVectors.escaped("<Advices>" + String(repeating: "<AttributeValuePair/>", count: 2000) + "</Advices>"),
      "%FF%FE" + AdviceVectors.escaped(AdviceVectors.xml),
      String(repeating: "%2525", count: 12_000),
    ])
  func hostile(_ value: String) {
    #expect(AdviceRecognizer(scope: .everyAnswer).finding(in: V.redirect(V.location(value))) == nil)
  }

  @Test("Another parameter, another type or an ambiguous one is taken for advice")
  func parameters() {
    let value = V.escaped(V.xml)
    let other = V.escaped(V.document([("A", "x")]))
    for location in [
      V.location(value, type: "service"), V.location(value, type: ""), "https://am.test/am/?authIndexValue=\(value)",
      "https://am.test/am/?authIndexType=composite_advice", "https://am.test/am/", "",
      "https://am.test/am/?goto=" + V.escaped(V.location(value)),
      V.location(value) + "&authIndexValue=" + other, V.location(value) + "&authIndexType=service",
    ] {
      #expect(AdviceRecognizer().finding(in: V.redirect(location)) == nil, "\(location)")
    }
    let twice = HTTPFields([
      .init(name: "Location", value: V.location(value)), .init(name: "Location", value: V.location(other)),
    ])
    #expect(AdviceRecognizer().finding(in: HTTPResponse(status: 302, fields: twice)) == nil)
    for status in [200, 401, 403, 500] {
      #expect(AdviceRecognizer(scope: .everyAnswer).finding(in: V.redirect(V.location(value), status: status)) == nil)
    }
    #expect(AdviceRecognizer().finding(in: V.redirect(V.location(value) + "&realm=/other"))?.advices.count == 1)
  }

  @Test("A redirect to another server than the access manager counts as its advice")
  func origins() throws {
    let value = "?authIndexType=composite_advice&authIndexValue=" + V.escaped(V.xml)
    let recognizer = AdviceRecognizer(accessManager: try HTTPURL("https://am.test/am"))
    let url = try HTTPURL("https://am.test/shop/item")
    for (start, isFound) in [
      ("https://am.test/am/", true), ("https://AM.test:443/XUI/", true), ("https://am.test.evil.test/am/", false),
      ("https://am.test@evil.test/am/", false), ("http://am.test/am/", false), ("https://am.test:8443/am/", false),
      ("//evil.test/am/", false), ("javascript:x", false), ("https://evil.test\\@am.test/", false),
    ] {
      #expect((recognizer.finding(in: V.redirect(start + value), from: url) != nil) == isFound, "\(start)")
    }
    #expect(recognizer.finding(in: V.redirect("/am/" + value), from: url) != nil)
    #expect(recognizer.finding(in: V.redirect("/am/" + value), from: try HTTPURL("https://shop.test/")) == nil)
    #expect(recognizer.finding(in: V.redirect("/am/" + value)) == nil)
  }
}

/// The page for errors that cannot be reported to the client.
enum ErrorPage {
  /// A page with `message`.
  static func page(_ message: String) -> Page { Page(title: "This did not work", content: Page.alert(message)) }
}

/// The page for errors that cannot be told to the client.
enum ErrorPage {
  /// A page that says `message`.
  static func page(_ message: String) -> Page { Page(title: "This did not work", content: Page.alert(message)) }
}

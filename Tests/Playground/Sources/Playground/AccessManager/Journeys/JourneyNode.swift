import PosternJSON

/// One page of a tree.
enum JourneyNode: Sendable, Equatable {
  /// Name and password.
  case credentials
  /// The password of the user who is signed on.
  case password
  /// A one-time password: always 123456, three tries.
  case oneTimePassword
  /// How to go on: with a password or with a one-time password.
  case choice
  /// Waits as for a phone: so many times.
  case push(polls: Int)
  /// Stops until a link is followed that an e-mail would hold.
  case email
  /// Sends the browser elsewhere and takes the `code` it comes back with.
  case redirect
  /// Whether the user agrees to a transaction.
  case confirm
  /// One callback of many types, one of them of no type there is, with members in an unusual order.
  case everything

  static let code = "123456"

  /// The trees there are, as a policy or a request names them.
  static func tree(_ name: String) -> [JourneyNode]? {
    switch name {
    case "Login": [.credentials]
    case "ConfirmPassword": [.password]
    case "Otp": [.credentials, .oneTimePassword]
    case "Choice": [.credentials, .choice]
    case "Push": [.credentials, .push(polls: 2)]
    case "Email": [.credentials, .email]
    case "Redirect": [.credentials, .redirect]
    case "Everything": [.credentials, .everything]
    default: nil
    }
  }

  /// The page's callbacks; the names of their inputs count from 1.
  func callbacks(_ waitMilliseconds: Int64) -> [JSONValue] {
    switch self {
    case .credentials: [Self.text("NameCallback", "User Name", 1), Self.text("PasswordCallback", "Password", 2)]
    case .password: [Self.text("PasswordCallback", "Password", 1)]
    case .oneTimePassword: [Self.text("PasswordCallback", "One Time Password", 1)]
    case .choice:
      [
        [
          "type": "ChoiceCallback",
          "output": [
            ["name": "prompt", "value": "How?"], ["name": "choices", "value": ["password", "code"]],
            ["name": "defaultChoice", "value": 0],
          ],
          "input": [["name": "IDToken1", "value": 0]],
        ]
      ]
    case .push:
      [
        [
          "type": "PollingWaitCallback",
          "output": [
            ["name": "waitTime", "value": .string(String(waitMilliseconds))],
            ["name": "message", "value": "Waiting for response..."],
          ],
        ]
      ]
    case .email:
      [
        [
          "type": "SuspendedTextOutputCallback",
          "output": [
            ["name": "message", "value": "An email has been sent to your inbox."],
            ["name": "messageType", "value": "0"],
          ],
        ]
      ]
    case .redirect:
      [
        [
          "type": "RedirectCallback",
          "output": [
            ["name": "redirectUrl", "value": "https://social.test/authorize?state=s1"],
            ["name": "redirectMethod", "value": "GET"], ["name": "trackingCookie", "value": true],
          ],
        ]
      ]
    case .confirm:
      [
        [
          "type": "TextOutputCallback",
          "output": [
            ["name": "message", "value": "Do you agree?"], ["name": "messageType", "value": "0"],
          ],
        ],
        [
          "type": "ConfirmationCallback",
          "output": [
            ["name": "prompt", "value": ""], ["name": "messageType", "value": 0],
            ["name": "options", "value": ["Yes", "No"]], ["name": "optionType", "value": -1],
            ["name": "defaultOption", "value": 1],
          ],
          "input": [["name": "IDToken2", "value": 100]],
        ],
      ]
    case .everything: Self.oddities
    }
  }

  private static func text(_ type: String, _ prompt: String, _ number: Int) -> JSONValue {
    [
      "type": .string(type), "output": [["name": "prompt", "value": .string(prompt)]],
      "input": [["name": .string("IDToken\(number)"), "value": ""]], "_id": .integer(Int64(number - 1)),
    ]
  }

  private static let oddities: [JSONValue] = [
    [
      "_id": 0, "output": [["value": "a", "name": "z"]], "type": "MetadataCallback",
      "zeta": [1.5, 1e300, -0.25, "é\u{2028}"],
    ],
    [
      "type": "HiddenValueCallback",
      "output": [["name": "value", "value": ""], ["name": "id", "value": "fingerprint"]],
      "input": [["name": "IDToken2", "value": "fingerprint"]],
    ],
    [
      "type": "StringAttributeInputCallback",
      "output": [
        ["name": "name", "value": "mail"], ["name": "prompt", "value": "E-mail"], ["name": "required", "value": true],
        ["name": "policies", "value": [:]], ["name": "failedPolicies", "value": []],
        ["name": "validateOnly", "value": false], ["name": "value", "value": ""],
      ],
      "input": [["name": "IDToken3", "value": ""], ["name": "IDToken3validateOnly", "value": false]],
    ],
    ["type": "FutureCallback", "what": ["b": nil, "a": [[]]], "input": [["name": "IDToken4", "value": [:]]]],
  ]
}

"""What a fact may be about: where somebody lives, what they do, whom they love. Two facts about the same person
in one of these domains are worth comparing even where they share no other word."""

from __future__ import annotations

from lifelong.text.stems import canonical

_DOMAINS = """
home: live reside residence move relocate settle house flat apartment condo studio bungalow cottage townhouse
 loft dorm room home address neighbourhood neighborhood street suburb town city village country landlord tenant
 lease rent mortgage downstairs upstairs unpack boxes keys hometown based flatmate roommate housemate abroad
 emigrate downsize squat couch van houseboat cabin farmhouse
job: work job career employ employer employee boss manager company firm office startup hire fire sack layoff
 redundant quit resign retire promote promotion badge notice shift salary wage profession occupation role
 position intern apprentice freelance contractor consultant self-employed unemployed workplace desk colleague
 coworker payroll gig client agency department teach nurse
school: study student school university college degree major course class semester term exam thesis phd master
 bachelor graduate graduation enroll enrol dropout lecture tutor homework teacher grade scholarship campus
 kindergarten nursery preschool freshman sophomore
love: marry married marriage wife husband spouse partner girlfriend boyfriend fiance fiancee engage engaged
 engagement divorce divorced single date dating split separate separated widow wedding relationship ex couple
 breakup ring honeymoon
family: mother father mum mom dad parent sister brother sibling son daughter kid child baby toddler twin
 pregnant expecting birth born grandma grandpa grandmother grandfather uncle aunt cousin niece nephew in-law
 stepson stepdaughter adopt foster triplet
pet: dog cat puppy kitten rabbit hamster parrot budgie horse pony goldfish fish tortoise turtle guinea lizard
 gecko snake hen chicken goat vet leash shelter breed terrier labrador retriever poodle collie beagle tabby
 aquarium
health: allergy allergic asthma diabetes diagnosis diagnose doctor hospital surgery operation medication
 medicine pill tablet dose mg insulin inhaler blood pressure cholesterol injury injured knee ankle wrist
 shoulder back cast crutches brace glasses contacts hearing therapy therapist physio migraine headache anxiety
 depression illness sick recover heal pregnant vaccine intolerant intolerance symptom chemo remission cancer ill
 flu fever pain
food: eat vegan vegetarian pescatarian meat fish diet gluten dairy lactose sugar keto breakfast lunch dinner
 meal snack recipe cook bake restaurant cuisine spicy takeaway pizza pasta sushi curry cheese bread salad soup
 nuts peanut shellfish egg beef pork chicken
drink: coffee tea beer wine alcohol sober juice soda cola espresso latte cappuccino matcha decaf whisky whiskey
 gin rum cider smoothie kombucha water milk cocoa oat
smoke: smoke cigarette vape nicotine tobacco cigar smoker
sport: run running marathon jog swim swimming gym yoga pilates football soccer basketball tennis golf climb
 climbing bouldering cycle cycling bike hike hiking ski skiing surf surfing row rowing box boxing judo karate
 crossfit training coach team match league pace lap squash badminton volleyball hockey cricket rugby skateboard
 dance ballet weights lift squat workout
music: guitar piano violin cello drum drums bass flute saxophone trumpet ukulele sing choir band concert album
 vinyl playlist spotify song rehearsal gig orchestra clarinet harp banjo
car: car drive driving truck van suv sedan hatchback motorbike motorcycle scooter vespa tesla toyota honda volvo
 ford bmw audi vw volkswagen golf skoda subaru mazda fiat renault peugeot kia hyundai nissan corolla civic prius
 garage parking mileage diesel electric hybrid tyre licence license lease
commute: commute bus train tram metro subway bike bicycle walk ferry carpool drive ride tube e-bike
money: budget cost price fee rent salary wage income pay loan debt mortgage savings invest investment
 subscription bill bills discount tax insurance premium deposit refund invoice bank account card credit euro
 euros dollar dollars pound pounds cents owe earn spend charge afford
phone: phone iphone android pixel samsung number carrier plan sim tablet ipad laptop macbook thinkpad computer
 pc monitor keyboard headphones earbuds watch smartwatch kindle camera lens console playstation xbox switch
 charger
contact: email phone call text sms message whatsapp signal telegram slack teams discord letter zoom mail address
 number
meeting: meeting standup stand-up sync retro review call appointment session workshop seminar class lesson
 rehearsal practice conference webinar interview demo kickoff check-in agenda invite calendar schedule slot
event: party wedding birthday anniversary trip holiday vacation flight concert festival reunion picnic barbecue
 bbq tournament race marathon ceremony gala fair exhibition show premiere opening launch funeral christening
 dinner camp retreat tour cruise
deadline: deadline due date launch release submit submission ship deliver delivery milestone expire expiry
 freeze cutoff application deploy
project: project repo repository codebase feature ticket issue bug branch sprint backlog roadmap milestone
 release version app service api prototype mvp website site page
infra: server database db cluster kubernetes docker aws gcp azure postgres postgresql mysql mongodb mongo redis
 sqlite kafka rabbitmq elasticsearch nginx cron job pipeline ci deploy deployment production staging backup disk
 cpu memory ram region host hosting cloud queue worker cache bucket s3 log logs alert dashboard grafana datadog
 prometheus jenkins terraform lambda heroku vercel export import nightly sync script
code: python java javascript typescript rust go golang ruby php kotlin swift scala haskell elixir c++ c# react
 vue angular svelte django flask rails fastapi spring node editor vim emacs vscode neovim pycharm ide linter
 formatter test tests library framework language indent tabs spaces
tool: notion obsidian evernote trello jira asana linear monday airtable excel sheets spreadsheet word docs figma
 sketch photoshop canva slack teams zoom github gitlab bitbucket confluence todoist app software tool vendor
 supplier provider crm salesforce hubspot mailchimp stripe paypal
owner: own owner lead leads leader manage manager head chair captain maintain maintainer responsible charge run
 director president treasurer secretary chairman chairwoman principal editor admin administrator supervisor
 foreman oversee handle coordinate coordinator point contact
name: name call called nickname rename renamed title surname maiden alias known brand branded rebrand codename
 handle username
place: at in on office building floor room shelf drawer cupboard garage basement attic cellar shed desk locker
 warehouse venue location hall gym studio kitchen fridge freezer closet wardrobe safe box folder corner hook
time: morning evening afternoon night noon midnight monday tuesday wednesday thursday friday saturday sunday
 daily weekly monthly fortnightly biweekly weekday weekend hourly hour o'clock am pm early late
colour: red green blue yellow black white grey gray orange purple pink brown blonde beige teal turquoise navy
 maroon lilac cream silver gold dye paint painted hair wall
hair: hair beard moustache bangs fringe curly straight shave haircut bald ponytail
language: english german french spanish italian portuguese dutch polish russian chinese mandarin cantonese
 japanese korean turkish arabic hindi swedish norwegian danish finnish greek hebrew welsh irish lesson fluent
 speak duolingo
faith: church mosque temple synagogue catholic christian muslim jewish buddhist hindu atheist pray religion
 faith baptised
club: club member membership society committee board volunteer charity union association troop choir league
 subscribe join
media: read book novel series show season episode podcast film movie watch game newspaper magazine netflix hbo
 author chapter kindle audiobook
plants: garden plant plants tomato tomatoes rose roses allotment greenhouse lawn tree compost orchid cactus
 basil herb herbs bee bees hive
sleep: sleep wake alarm bed bedtime nap insomnia snooze early bird owl
policy: rule policy allow allowed require required ban banned forbid forbidden permit permitted mandatory
 optional limit must approve approval dress code remote hybrid office hours
status: open closed broken fixed working down up offline online blocked pending merged resolved done finished
 complete ready failing passing approved rejected active inactive paused archived deprecated enabled disabled
 leak leaking crash stuck available unavailable empty full sold missing lost found
age: age old year years turn turned birthday born
size: tall height weigh weight kilo kilos kg pounds cm metre metres size inch inches capacity
score: score record pb personal best rating rank ranking points level handicap elo time pace grade mark
count: count number total members people participants guests students employees subscribers followers users
 customers seats copies
"""


_BARE = {"be", "hav", "do"}  # the stems of words that stand in every sentence


def table(text: str) -> dict[str, tuple[str, ...]]:
    """From a word, and from its stem, to the names of the groups that it is in. A group is a line, `name: words`,
    which goes on in lines that are set in."""
    found: dict[str, dict[str, None]] = {}
    for group in text.replace("\n ", " ").strip().splitlines():
        name, _, words = group.partition(":")
        for word in words.split():
            for form in {word, canonical(word)} - _BARE:
                found.setdefault(form, {})[name] = None
    return {word: tuple(names) for word, names in found.items()}


DOMAINS = table(_DOMAINS)
